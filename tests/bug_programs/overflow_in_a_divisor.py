# kind: overflow; symptom: the gain never learns, its gradient is zero; names: pow, float16
import torch

torch.manual_seed(0)
gain = torch.ones(6, dtype=torch.float16, requires_grad=True)
x = (torch.randn(4, 6) * 400).half()
mean = x.float().pow(2).mean(-1, keepdim=True)  #! mean = x.pow(2).mean(-1, keepdim=True)
scaled = (x * torch.rsqrt(mean + 1e-5)).half() * gain
scaled.float().sum().backward()
