# kind: optimizer-mismatch; symptom: the loss does not move; names: optimizer, not passed
import copy
import torch

torch.manual_seed(0)
template = torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.ELU(), torch.nn.Linear(6, 1))
model = copy.deepcopy(template)
opt = torch.optim.SGD(model.parameters(), lr=0.1)  #! opt = torch.optim.SGD(template.parameters(), lr=0.1)
x, y = torch.randn(12, 3), torch.randn(12, 1)
for step in range(3):
    opt.zero_grad()
    loss = (model(x) - y).abs().mean()
    loss.backward()
    opt.step()
