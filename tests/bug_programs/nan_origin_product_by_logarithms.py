# kind: nan-origin; symptom: the loss is fine and all weights are NaN after a step; names: survival.clamp, exp
import torch

torch.manual_seed(3)
risk = torch.nn.Linear(4, 5)
opt = torch.optim.SGD(risk.parameters(), lr=0.1)
patients = torch.randn(6, 4)
patients[2] *= 30.0
for _ in range(3):
    survival = 1.0 - torch.tanh(risk(patients).abs())
    total = survival.clamp(min=1e-6).log().sum(1).exp()  #! total = survival.log().sum(1).exp()
    opt.zero_grad()
    (total - 0.5).square().mean().backward()
    opt.step()
