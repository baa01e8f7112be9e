# kind: vanishing; symptom: nothing is learned of early inputs; names: state
import torch

torch.manual_seed(0)
u = (torch.randn(3, 6) * 0.3).requires_grad_()
w = (torch.eye(6) * 0.98).requires_grad_()  #! w = (torch.eye(6) * 0.3).requires_grad_()
x = torch.randn(25, 4, 3)
state = torch.zeros(4, 6)
start = torch.zeros(4, 6, requires_grad=True)
state = state + start
for t in range(25):
    state = torch.tanh(x[t] @ u * 0.1 + state @ w)  #< cause
loss = (state**2).sum()
loss.backward()
