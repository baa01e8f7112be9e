# kind: graph-growth; symptom: memory grows, although only a tensor of numbers is kept; names: losses, loss.detach()
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
losses = torch.zeros(12)
for step in range(12):
    x = torch.randn(8, 4)
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses[step] = loss.detach()  #! losses[step] = loss
print(losses.mean().item())
