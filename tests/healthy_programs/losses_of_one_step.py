# The losses of one step's micro-batches, in a list that is a new one in each step.
import torch

torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)


def step():
    losses = []
    optimizer.zero_grad()
    for _ in range(8):
        x = torch.randn(6, 4)
        loss = (net(x) - x.sum(1, keepdim=True)).square().mean() / 8
        loss.backward()
        losses.append(loss)
    optimizer.step()
    return torch.stack(losses).sum().item()


for _ in range(3):
    total = step()
print("total", total > 0)
