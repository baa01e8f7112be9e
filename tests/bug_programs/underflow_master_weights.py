# kind: underflow; symptom: the master weights never change; names: float16, scale the loss, w
import torch

torch.manual_seed(0)
w = torch.randn(6, 4, requires_grad=True)


def forward(x):
    return x.to(torch.float16) @ w.to(torch.float16)


scale = 65536.0  #! scale = 1.0
for _ in range(3):
    out = forward(torch.randn(32, 6)).to(torch.float32)  #< cause
    loss = 1e-8 * (out - 0.5).pow(2).mean()
    (loss * scale).backward()
    with torch.no_grad():
        w -= w.grad / scale
    w.grad = None
