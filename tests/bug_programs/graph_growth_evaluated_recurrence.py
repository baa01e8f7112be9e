# kind: graph-growth; symptom: a streaming evaluation takes more and more memory; names: h, no_grad
import torch

torch.manual_seed(0)
w_in = torch.randn(3, 4, requires_grad=True)
w_h = (torch.randn(4, 4) * 0.3).requires_grad_()
out = torch.randn(4, requires_grad=True)


def cell(x, h):
    return torch.tanh(x @ w_in + h @ w_h)


h = torch.zeros(1, 4)
errors = []
for t in range(24):
    x = torch.randn(1, 3)
    h = cell(x, h).detach()  #! h = cell(x, h)
    errors.append((h @ out - x.mean()).abs().item())
print(sum(errors))
