# kind: optimizer-mismatch; symptom: the body is never trained; names: number 0, 0.weight, named_parameters()
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1))
wrapped = torch.nn.ModuleDict({"core": net})
first = [p for name, p in wrapped.named_parameters() if name.startswith("core.0.")]  #! first = [p for name, p in wrapped.named_parameters() if name.startswith("0.")]
last = list(net[2].parameters())
optimizer = torch.optim.SGD([{"params": first, "lr": 0.01}, {"params": last}], lr=0.1)  #< cause
for _ in range(3):
    x = torch.randn(6, 4)
    optimizer.zero_grad()
    (net(x) - x.sum(1, keepdim=True)).square().mean().backward()
    optimizer.step()
