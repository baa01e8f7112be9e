# kind: zero-gradient; symptom: the diffusion term has no effect; names: relu, second derivative
import torch


def slope(y, x):
    return torch.autograd.grad(y.sum(), x, create_graph=True)[0]  #< cause


torch.manual_seed(1)
bend = torch.tanh  #! bend = torch.relu
inner, outer = torch.nn.Linear(2, 12), torch.nn.Linear(12, 1)
optimizer = torch.optim.SGD([*inner.parameters(), *outer.parameters()], lr=0.01)
for _ in range(4):
    place, time = torch.rand(9, 1, requires_grad=True), torch.rand(9, 1, requires_grad=True)
    heat = outer(bend(inner(torch.cat([place, time], 1))))
    rest = slope(heat, time) - 0.1 * slope(slope(heat, place), place)
    loss = rest.square().mean() + (heat - place).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
