# A scale that is too large at first: steps with infinite gradients are left out, as GradScaler does, until one fits.
import torch

torch.manual_seed(0)
net, scale = torch.nn.Linear(8, 8), 2.0**20
optimizer = torch.optim.SGD(net.parameters(), 1e-2)
for _ in range(18):
    x = torch.randn(4, 8)
    out = x.half() @ net.weight.half().t() + net.bias.half()
    loss = (out.float() * 10 - x * 100).pow(2).mean()
    optimizer.zero_grad()
    (scale * loss).backward()
    if all(bool(torch.isfinite(p.grad).all()) for p in net.parameters()):
        for p in net.parameters():
            p.grad /= scale
        optimizer.step()
    else:
        scale /= 2
print("found", scale < 2.0**20)
