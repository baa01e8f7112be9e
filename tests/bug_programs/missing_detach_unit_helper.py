# kind: missing-detach; symptom: the averaged network gets gradients; names: unit(goal).detach()
import torch

torch.manual_seed(0)
online, target = torch.nn.Linear(5, 4), torch.nn.Linear(5, 4)
predictor = torch.nn.Linear(4, 4)
opt = torch.optim.SGD([*online.parameters(), *predictor.parameters()], lr=0.05)


def unit(v):
    return v / v.norm(dim=1, keepdim=True)


for x in torch.randn(2, 10, 5):
    goal = target(x + 0.1).detach()  #! goal = target(x + 0.1)
    loss = (2 - 2 * (unit(predictor(online(x))) * unit(goal)).sum(1)).mean()  #< cause
    opt.zero_grad()
    loss.backward()
    opt.step()
