# kind: unused-parameter; symptom: the second layer does not change; names: second.weight, second.bias
import torch

torch.manual_seed(0)
first = torch.nn.Linear(4, 8)
second = torch.nn.Linear(8, 8)  #< cause
last = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD([*first.parameters(), *second.parameters(), *last.parameters()], lr=0.1)
for step in range(3):
    x = torch.randn(8, 4)
    h = second(torch.tanh(first(x)))  #! h = torch.tanh(first(x))
    loss = (last(h) - x.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
