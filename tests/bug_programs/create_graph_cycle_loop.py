# kind: create-graph-cycle; symptom: a warning and memory that grows; names: theta
import torch

theta = torch.ones(4, requires_grad=True)
opt = torch.optim.SGD([theta], lr=0.01)
for step in range(3):
    opt.zero_grad()  #! theta.grad is None or theta.grad.detach().zero_()
    loss = (theta**3).sum()
    loss.backward(create_graph=True)  #< cause
    print(float(theta.grad.sum()))
    opt.step()
