# kind: overflow; symptom: in half precision the output is zero everywhere; names: x * x, float16
import torch

torch.manual_seed(0)
gain = torch.ones(64, dtype=torch.float16, requires_grad=True)
x = (torch.randn(4, 64) * 60).to(torch.float16)
power = (x.float() ** 2).mean(-1, keepdim=True).half()  #! power = (x * x).sum(-1, keepdim=True) / 64
out = x * gain / power.sqrt()
out.float().square().mean().backward()
