# kind: dead-relu; symptom: after the first step the loss stays where it is; names: relu, w1
import torch

torch.manual_seed(0)
x, y = torch.rand(32, 4), torch.rand(32, 1)
w1 = (torch.rand(4, 16) * 0.5).requires_grad_()
b1 = torch.zeros(16, requires_grad=True)
w2 = (torch.rand(16, 1) * 0.5).requires_grad_()
parameters = [w1, b1, w2]
opt = torch.optim.SGD(parameters, lr=0.01)  #! opt = torch.optim.SGD(parameters, lr=10.0)
for step in range(4):
    hidden = torch.relu(x @ w1 + b1)  #< cause
    loss = ((hidden @ w2 - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
