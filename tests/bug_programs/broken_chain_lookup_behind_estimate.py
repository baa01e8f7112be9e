# kind: broken-chain; symptom: the prototypes stay as drawn; names: prototypes, detach
import torch

torch.manual_seed(0)
enter, leave = torch.nn.Linear(10, 4), torch.nn.Linear(4, 10)
prototypes = torch.nn.Parameter(torch.randn(8, 4))
optimizer = torch.optim.Adam([*enter.parameters(), *leave.parameters(), prototypes], lr=0.01)


def snap(code):
    near = (code[:, None].detach() - prototypes.detach()).square().sum(-1).argmin(1)
    picked = prototypes[near]
    passed = torch.add(code, (picked - code).detach())  #< cause
    return passed, picked


for _ in range(4):
    sound = torch.randn(20, 10)
    code = enter(sound)
    passed, picked = snap(code)
    fit = torch.nn.functional.l1_loss(leave(passed), sound)
    pull = torch.nn.functional.mse_loss(picked, code.detach())  #! pull = torch.nn.functional.mse_loss(passed, code.detach())
    stay = torch.nn.functional.mse_loss(code, picked.detach())
    loss = fit + pull + 0.2 * stay
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
