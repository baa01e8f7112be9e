import torch

torch.manual_seed(0)


class Trace:
    def __init__(self):
        self.terms = []

    def add(self, v):
        self.terms.append(v)


mu = torch.zeros(2, requires_grad=True)
opt = torch.optim.SGD([mu], 0.1)
obs = torch.randn(7, 2) + 2
for step in range(5):
    trace = Trace()
    for o in obs:
        trace.add(-(o - mu).square().sum())
    total, differentiable = 0.0, 0.0
    for t in trace.terms:
        total += t.item()
        differentiable = differentiable + t
    logged = 0
    for t in trace.terms:
        logged = logged + t
    print(logged.item())
    opt.zero_grad()
    (-differentiable / 7).backward()
    opt.step()
