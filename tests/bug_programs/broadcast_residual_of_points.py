# kind: broadcast; symptom: the residual is a table of all points, and the fit is poor; names: (12, 12)
import torch

torch.manual_seed(2)
field = torch.nn.Sequential(torch.nn.Linear(1, 10), torch.nn.Tanh(), torch.nn.Linear(10, 1))
stiffness = torch.nn.Parameter(torch.tensor(0.7))
optimizer = torch.optim.Adam([*field.parameters(), stiffness], lr=5e-3)


def slope(of, by):
    return torch.autograd.grad(of.sum(), by, create_graph=True)[0]


for epoch in range(4):
    times = torch.rand(12, 1, requires_grad=True)
    bend = field(times)
    speed = slope(bend, times)
    pull = stiffness * bend  #! pull = (stiffness * bend).squeeze(1)
    residual = slope(speed, times) + pull  #< cause
    loss = residual.square().mean() + (field(torch.zeros(1, 1)) - 1).square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
