# kind: zero-gradient; symptom: all weights of the attention are 1.0; names: div, power, query.weight
import torch

torch.manual_seed(0)
query, value = torch.nn.Linear(6, 1), torch.nn.Linear(6, 4)
opt = torch.optim.SGD([*query.parameters(), *value.parameters()], lr=0.1)
words = torch.randn(10, 7, 6)
for step in range(3):
    power = torch.exp(query(words))
    share = power / power.sum(1, keepdim=True)  #! share = power / power.sum(-1, keepdim=True)
    pooled = (share * value(words)).sum(1)
    loss = (pooled - words[:, 0, :4]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
