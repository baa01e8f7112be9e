# kind: cleared-gradient; symptom: the weights are as they were at first; names: optimizer.step(), w.grad, before backward
import torch

torch.manual_seed(0)
w = torch.randn(4, 1, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)


def update(loss):
    optimizer.zero_grad()
    loss.backward()  #! optimizer.step()  #< cause
    optimizer.step()  #! loss.backward()


for step in range(5):
    x = torch.randn(8, 4)
    update((x @ w - x.sum(1, keepdim=True)).pow(2).mean())
