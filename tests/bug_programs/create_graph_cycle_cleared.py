# kind: create-graph-cycle; symptom: a warning and memory that is not freed; names: theta
import torch

theta = torch.ones(4, requires_grad=True)
for step in range(2):
    loss = (theta**3).sum()
    loss.backward(create_graph=True)  #< cause
    curvature = theta.grad.sum()
    print(float(curvature))
    theta.grad = None  #! theta.grad.detach().zero_()
