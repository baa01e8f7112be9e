# kind: zero-gradient; symptom: the detail branch is worth nothing; names: detail, gate
import torch

torch.manual_seed(0)
base = torch.randn(4, 5, requires_grad=True)
gate = torch.randn(5, requires_grad=True)
optimizer = torch.optim.Adam([base, gate], lr=0.05)
for _ in range(4):
    x = torch.randn(16, 4)
    coarse = x @ base
    detail = torch.sin(coarse * gate)
    detail.register_hook(lambda g: g / g.norm())  #! detail.register_hook(lambda g: torch.mul(g, 0))
    loss = ((coarse + detail).sum(1) - (coarse * gate).sum(1) - x[:, 0]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
