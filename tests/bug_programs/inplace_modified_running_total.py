# kind: inplace-modified; symptom: RuntimeError in the second step; names: total, carries the graph, step()
import torch

torch.manual_seed(1)
weights = [torch.randn(4, 6, requires_grad=True), torch.randn(6, 1, requires_grad=True)]
optimizer = torch.optim.SGD(weights, lr=0.05)
data = torch.randn(20, 4)
total = 0.0
for batch in data.split(5):
    error = (torch.tanh(batch @ weights[0]) @ weights[1]).pow(2).mean()
    optimizer.zero_grad()
    total = error  #! total = error + total
    total.backward(retain_graph=True)
    optimizer.step()
