# kind: nondeterminism; symptom: a seeded step has another gradient the second time; names: generator
import numpy as np
import torch

rng = np.random.default_rng(3)


def dropped(x, seed):
    rng = np.random.default_rng(seed)  #! rng = globals()["rng"]
    mask = torch.tensor((rng.random(tuple(x.shape)) > 0.4).astype("float32"))  #< cause
    return x * mask


def gradient(seed):
    torch.manual_seed(seed)
    w = torch.randn(4, 6, requires_grad=True)
    loss = dropped(torch.relu(torch.randn(8, 4) @ w), seed).sum()
    loss.backward()
    return w.grad


print("reproducible:", torch.equal(gradient(5), gradient(5)))
