# kind: frozen-parameter; symptom: element 0 of tensors does not require grad; names: w, requires_grad=True
import torch

torch.manual_seed(0)
w = torch.randn(4, 1, requires_grad=True)  #! w = torch.randn(4, 1)
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(3):
    x = torch.randn(8, 4)
    loss = (x @ w - x.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
