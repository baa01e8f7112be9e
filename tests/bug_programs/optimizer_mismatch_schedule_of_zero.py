# kind: optimizer-mismatch; symptom: nothing is learned; names: learning rate, is 0 in all, scheduler.step()
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(5, 6), torch.nn.ReLU(), torch.nn.Linear(6, 3))
optimizer = torch.optim.RMSprop(net.parameters(), lr=0.01)
steps = 4
warm = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: (t + 1) / steps)  #! warm = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: (t + 1) // 100)
for _ in range(steps):
    x = torch.randn(7, 5)
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(net(x), torch.arange(7) % 3).backward()
    optimizer.step()
    warm.step()
