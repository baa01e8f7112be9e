# kind: zero-gradient; symptom: the gates stay as they are; names: bernoulli, gates
import torch

torch.manual_seed(0)
gates = torch.zeros(6, requires_grad=True)
head = torch.nn.Linear(6, 1)
optimizer = torch.optim.SGD([gates, *head.parameters()], lr=0.1)
for step in range(3):
    x = torch.rand(8, 6)
    open_share = torch.sigmoid(gates).expand(8, 6)
    mask = open_share + (torch.bernoulli(open_share) - open_share).detach()  #! mask = torch.bernoulli(open_share)
    loss = (head(x * mask) - x.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
