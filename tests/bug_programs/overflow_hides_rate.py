# kind: overflow; symptom: in half precision no gradient arrives at all; names: sum(square), float16
import torch

torch.manual_seed(0)
row = (torch.randn(3, 48) * 55).to(torch.float16).requires_grad_()
mix = torch.randn(48, 2).to(torch.float16)
square = (row / 64) * (row / 64) * 64  #! square = row * row
rate = torch.rsqrt(square.sum(1, keepdim=True) / 48)  #< cause
loss = (row * rate @ mix).float().square().mean()
loss.backward()
print(row.grad)
