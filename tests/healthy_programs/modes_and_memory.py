"""Grad modes switched in every way and switched back, arrays and storages that are written when nothing needs them."""

import contextlib

import numpy as np
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
buffer = np.zeros((8, 3), dtype=np.float32)
inputs = torch.from_numpy(buffer)
history = torch.zeros(3)


@torch.no_grad()
def score(x):
    return net(x).mean().item()


@contextlib.contextmanager
def quiet():
    was = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    try:
        yield
    finally:
        torch.set_grad_enabled(was)


@torch.inference_mode()
def rows(x):
    for row in x:
        yield net(row).item()


for step in range(4):
    buffer[...] = np.random.default_rng(step).standard_normal((8, 3))
    optimizer.zero_grad()
    loss = (net(inputs) - inputs.sum(1, keepdim=True)).square().mean()
    loss.backward()
    optimizer.step()
    history.untyped_storage().copy_(torch.full((3,), float(step)).untyped_storage())
    with quiet():
        net(inputs)
    weights = net[0].weight.detach().numpy()
    best = weights.copy()
    best[...] = 0
    print(round(score(inputs), 3), len(list(rows(inputs))), float(np.from_dlpack(history)[0]), weights.shape)
