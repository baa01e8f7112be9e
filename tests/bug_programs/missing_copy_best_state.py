# kind: missing-copy; symptom: the best weights are those of the last epoch; names: restores nothing, deepcopy
import copy

import torch

torch.manual_seed(0)
house = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.Adam(house.parameters(), lr=0.1)
x = torch.randn(32, 4)
best, kept = 1e9, {}
for _ in range(6):
    loss = (house(x).squeeze(1) - x.prod(1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if loss.item() < best:
        best = loss.item()
        kept["weights"] = copy.deepcopy(house.state_dict())  #! kept["weights"] = house.state_dict()
for _ in range(2):
    loss = (house(x).squeeze(1) - x.prod(1)).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
house.load_state_dict(kept["weights"])
