# kind: silent-inplace; symptom: gradients are those of other scores; names: scores, .data
import torch

torch.manual_seed(0)
weight = torch.randn(4, 3, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(2):
    scores = torch.randn(5, 4) @ weight
    cost = torch.sigmoid(scores).mul(scores).sum()
    pass  #! scores.data[1:].reshape(-1).copy_(torch.ones(12))  #< cause
    optimizer.zero_grad()
    cost.backward()
    optimizer.step()
