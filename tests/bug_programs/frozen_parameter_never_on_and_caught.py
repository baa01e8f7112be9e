# kind: frozen-parameter; symptom: nothing is learned, and nothing is said; names: scale and shift, has no graph
import torch

torch.manual_seed(0)
scale, shift = torch.ones(3), torch.zeros(3)  #< cause
for one in (scale, shift):
    one.requires_grad_(True)  #! pass
opt = torch.optim.Adam([scale, shift], lr=0.1)
for step in range(4):
    rows = torch.rand(5, 3)
    error = (rows * scale + shift - 1).abs().mean()
    try:
        opt.zero_grad()
        error.backward()
    except RuntimeError:
        continue
    opt.step()
