# kind: zero-gradient; symptom: the loss is zero from the first step on; names: inf, masked_fill
import torch

torch.manual_seed(0)
features = torch.nn.Linear(4, 3)
optimizer = torch.optim.Adam(features.parameters(), lr=0.01)
for _ in range(4):
    rows = features(torch.randn(6, 4))
    apart = (rows.unsqueeze(1) - rows.unsqueeze(0)).pow(2).sum(2)
    near = 5 - apart
    itself = torch.eye(6, dtype=torch.bool)
    near = near.masked_fill(itself, float("-inf"))  #! near = near.masked_fill(itself, float("inf"))
    nearest = near.amax(1)
    loss = torch.relu(apart.mean(1) + 2 - (5 - nearest)).mean()  #! loss = torch.relu(apart.mean(1) + 2 - nearest).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
