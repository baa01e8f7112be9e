# kind: broken-chain; symptom: weights stay the same, nothing is raised; names: weight, tolist
import torch

torch.manual_seed(0)
lift = torch.nn.Linear(2, 2)
opt = torch.optim.SGD(lift.parameters(), lr=0.1)


def every_second(path):
    return torch.stack(path[::2])  #! return torch.tensor([point.tolist() for point in path[::2]])


for step in range(3):
    start = torch.randn(5, 2)
    path = [lift(start)]
    for _ in range(3):
        path.append(path[-1] * 0.9)
    loss = (every_second(path) - start).pow(2).mean()
    opt.zero_grad()
    if loss.requires_grad:
        loss.backward()
    opt.step()
