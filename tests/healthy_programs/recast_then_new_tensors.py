import torch

nn = torch.nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)).half()
master = [p.detach().float().clone().requires_grad_() for p in net.parameters()]
opt = torch.optim.Adam(master, 1e-3)
for step in range(3):
    x = torch.randn(16, 8)
    loss = nn.functional.mse_loss(net(x.half()).float(), x.mean(1, keepdim=True))
    net.zero_grad()
    (loss * 1024.0).backward()
    for m, p in zip(master, net.parameters()):
        m.grad = p.grad.float() / 1024.0
    opt.step()
    with torch.no_grad():
        for m, p in zip(master, net.parameters()):
            p.copy_(m)
print("loss", loss.item() < 1e9)
