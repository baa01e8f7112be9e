# kind: optimizer-mismatch; symptom: the loss falls a hundred times too slowly; names: lr=0.0001, 0.01
import torch

torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
rate = 0.01
opt = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
plan = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: 1 / (1 + 0.1 * step))  #! plan = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: rate / (1 + 0.1 * step))
for step in range(8):
    x = torch.randn(16, 4)
    opt.zero_grad()
    (net(x) - x.sum(1, keepdim=True)).square().mean().backward()
    opt.step()
    plan.step()
