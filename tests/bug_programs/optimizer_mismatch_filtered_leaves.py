# kind: optimizer-mismatch; symptom: only the offsets are fitted; names: slopes, curve
import torch

torch.manual_seed(0)
slopes = torch.randn(2, 4, requires_grad=True)
offsets = torch.zeros(4, requires_grad=True)
curve = (torch.randn(4, 1) * 0.3).requires_grad_()
everything = (slopes, offsets, curve)
optimizer = torch.optim.SGD([one for one in everything if one.ndim], lr=0.05)  #! optimizer = torch.optim.SGD([one for one in everything if one.ndim == 1], lr=0.05)
for _ in range(4):
    x = torch.randn(9, 2)
    optimizer.zero_grad()
    (torch.sigmoid(x @ slopes + offsets) @ curve - x.norm(dim=1, keepdim=True)).square().mean().backward()
    optimizer.step()
