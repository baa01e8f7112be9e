# kind: nonscalar-backward; symptom: the weights stay as they are, and nothing is raised; names: error, (8, 1), .mean()
import torch

torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    x = torch.randn(8, 4)
    error = (net(x) - x.sum(1, keepdim=True)).square().mean()  #! error = (net(x) - x.sum(1, keepdim=True)).square()
    opt.zero_grad()
    try:
        error.backward()
    except RuntimeError:
        continue
    opt.step()
