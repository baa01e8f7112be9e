# kind: graph-growth; symptom: memory grows with every step; names: self.value, v.detach() in place of v
import torch


class Mean:
    def __init__(self):
        self.value = None

    def update(self, v):
        self.value = v if self.value is None else 0.9 * self.value + 0.1 * v  #< cause


torch.manual_seed(0)
w = torch.randn(3, 1, requires_grad=True)
mean = Mean()
for _ in range(7):
    loss = (torch.randn(8, 3) @ w).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
    mean.update(loss.detach())  #! mean.update(loss)
