# kind: missing-create-graph; symptom: forces stay wrong however long one trains; names: at.grad, e.backward(), create_graph
import torch

torch.manual_seed(0)
w1, w2 = torch.randn(3, 8).mul(0.5).requires_grad_(), torch.randn(8, 1).mul(0.5).requires_grad_()
places, forces = torch.randn(6, 3), torch.randn(6, 3)
opt = torch.optim.SGD([w1, w2], lr=0.01)
for step in range(3):
    at = places.clone().requires_grad_(True)
    e = torch.tanh(at @ w1).matmul(w2).sum()
    (slope,) = torch.autograd.grad(e, at, create_graph=True)  #! e.backward(retain_graph=True)
    f = -slope  #! f = -at.grad
    loss = (e + 1.5).square() + (f - forces).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
