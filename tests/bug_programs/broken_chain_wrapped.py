# kind: broken-chain; symptom: the encoder never changes; names: no_grad, encode
import contextlib

import torch


def timed(function):
    def inner(*given):
        with contextlib.nullcontext():  #! with torch.no_grad():
            return function(*given)

    return inner


torch.manual_seed(0)
w = torch.randn(3, 4, requires_grad=True)
v = torch.randn(4, 1, requires_grad=True)
opt = torch.optim.SGD([w, v], lr=0.1)


@timed
def encode(x):
    return torch.tanh(x @ w)


for _ in range(3):
    loss = (encode(torch.randn(8, 3)) @ v).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
