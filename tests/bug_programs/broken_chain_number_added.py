# kind: broken-chain; symptom: the second task never gets better; names: second, item
import torch

torch.manual_seed(0)
shared = torch.nn.Linear(4, 2)
optimizer = torch.optim.Adam(shared.parameters(), lr=0.01)
for _ in range(4):
    x = torch.randn(12, 4)
    one, other = shared(x).unbind(1)
    first = (one - x[:, 0]).square().mean()
    second = (other + x[:, 1]).square().mean()
    whole = torch.add(first, second)  #! whole = torch.add(first, second.item())
    optimizer.zero_grad()
    whole.backward()
    optimizer.step()
