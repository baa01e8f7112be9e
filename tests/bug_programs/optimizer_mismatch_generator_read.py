# kind: optimizer-mismatch; symptom: the optimizer gets an empty parameter list; names: generator, list(net.parameters()); torch only
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
params = list(net.parameters())  #! params = net.parameters()
print(sum(p.numel() for p in params), "parameters")  #< cause
opt = torch.optim.SGD(params, lr=0.1)
loss = net(torch.ones(2, 3)).sum()
loss.backward()
opt.step()
