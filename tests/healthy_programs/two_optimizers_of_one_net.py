import torch

# Two optimizers take turns on one network, before a random network that only measures what it gives.
torch.manual_seed(0)
net = torch.nn.Linear(4, 3)
judge = torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.Tanh(), torch.nn.Linear(6, 6))
slow, quick = torch.optim.SGD(net.parameters(), lr=0.01), torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(6):
    x = torch.randn(8, 4)
    loss = (judge(net(x)) - judge(x[:, :3])).pow(2).mean()
    optimizer = slow if step % 2 else quick
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(step, bool(torch.isfinite(loss)))
