# kind: optimizer-mismatch; symptom: the weights never change; names: weight, bit by bit, 4 steps
import torch


class Signs(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                moved = p  #! moved = p.clone()
                moved.sub_(group["lr"] * p.grad.sign())


torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
signs = Signs(net.parameters(), lr=0.01)
for _ in range(4):
    x = torch.randn(9, 4)
    signs.zero_grad()
    (net(x) - x.max()).square().mean().backward()
    signs.step()  #< cause
