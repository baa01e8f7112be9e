# kind: broken-chain; symptom: does not require grad, after the first epoch; names: weight, set_grad_enabled
import torch

torch.manual_seed(0)
weight = torch.randn(4, 1, requires_grad=True)
opt = torch.optim.SGD([weight], lr=0.1)
valid = torch.randn(6, 4)


def evaluate():
    was = torch.is_grad_enabled()
    torch.set_grad_enabled(False)  #< cause
    score = (valid @ weight).square().mean().item()
    torch.set_grad_enabled(was)  #! score = round(score, 3)
    return score


try:
    for epoch in range(3):
        loss = (torch.randn(8, 4) @ weight).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        evaluate()
finally:
    torch.set_grad_enabled(True)
