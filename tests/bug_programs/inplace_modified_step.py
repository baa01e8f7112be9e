# kind: inplace-modified; symptom: backward refuses weights that were changed in place; names: weights, step
import torch

torch.manual_seed(0)
made = torch.randn(4, 2, requires_grad=True)
weights = torch.randn(2, 1, requires_grad=True)
judging = torch.optim.SGD([weights], lr=0.1)
making = torch.optim.SGD([made], lr=0.1)
for step in range(2):
    fake = torch.randn(8, 4) @ made
    score = (fake @ weights).sigmoid()
    judging.zero_grad()
    score.mean().backward(retain_graph=True)
    judging.step()  #< cause
    making.zero_grad()
    score = (fake @ weights).sigmoid()  #! score = score + 0
    (1 - score).mean().backward()
    making.step()
