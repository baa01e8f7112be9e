# kind: cleared-gradient; symptom: the loss never falls; names: opt.step(), 0.weight.grad
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(4):
    loss = (model(torch.randn(8, 4)) - 1.0).square().mean()
    opt.zero_grad()  #! loss.backward()
    loss.backward()  #! opt.zero_grad()  #< cause
    opt.step()
