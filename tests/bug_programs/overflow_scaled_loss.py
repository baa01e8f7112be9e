# kind: overflow; symptom: all gradients are infinite, the loss is fine; names: float16, smaller scale
import torch

torch.manual_seed(0)
w = (torch.randn(6, 6) * 0.3).to(torch.float16).requires_grad_()
scale = 2.0**4  #! scale = 2.0**17
h = torch.tanh(torch.randn(8, 6).to(torch.float16) @ w)
loss = h.to(torch.float32).square().sum()  #< cause
(loss * scale).backward()
