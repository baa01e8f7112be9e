# kind: nondeterminism; symptom: no two runs give the same loss; names: noise; run twice
import numpy as np
import torch

torch.manual_seed(0)
rng = np.random.default_rng(0)  #! rng = np.random.default_rng()
w = torch.ones(3, requires_grad=True)
x = torch.randn(5, 3)
for step in range(2):
    noise = torch.tensor(rng.normal(size=(5, 3)), dtype=torch.float32)  #< cause
    loss = ((x + noise) @ w).pow(2).mean()
    w.grad = None
    loss.backward()
