# kind: broken-chain; symptom: weights stay the same, nothing is raised; names: weight, bias, torch.no_grad
import contextlib

import torch

torch.manual_seed(0)
weight, bias = torch.randn(2, 4, requires_grad=True), torch.zeros(2, requires_grad=True)
opt = torch.optim.SGD([weight, bias], lr=0.1)
for step in range(3):
    x = torch.randn(5, 4)
    with contextlib.nullcontext():  #! with torch.no_grad():
        y = x @ weight.t() + bias
    loss = y.pow(2).mean()
    opt.zero_grad()
    if loss.requires_grad:
        loss.backward()
    opt.step()
