import torch

torch.manual_seed(5)
x, y = torch.randn(32, 8), torch.randn(32, 1)
master = [(torch.randn(8, 16) * 0.3).requires_grad_(True), (torch.randn(16, 1) * 0.3).requires_grad_(True)]
scale = 128.0
for step in range(4):
    w1, w2 = [p.half() for p in master]
    hidden = torch.tanh(x.half() @ w1)
    loss = ((hidden @ w2).float() - y).pow(2).mean()
    for p in master:
        p.grad = None
    (loss * scale).backward()
    finite = all(bool(torch.isfinite(p.grad).all()) for p in master)
    if finite:
        with torch.no_grad():
            for p in master:
                p -= 0.05 * (p.grad / scale)
    else:
        scale = scale / 2
print("finite", finite)
