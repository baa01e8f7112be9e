# kind: broken-chain; symptom: the front layer never changes; names: front, detach, NumPy
import numpy as np
import torch

torch.manual_seed(0)
front = torch.randn(8, 8, requires_grad=True)
back = torch.randn(5, 2, requires_grad=True)
opt = torch.optim.SGD([front, back], lr=0.01)
x = torch.randn(10, 8)
for step in range(2):
    h = x @ front
    power = torch.fft.rfft(h).abs()  #! power = torch.from_numpy(np.abs(np.fft.rfft(h.detach().numpy())).astype("float32")).float()
    loss = (torch.log1p(power) @ back).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
