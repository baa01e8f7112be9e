# kind: silent-inplace; symptom: gradients are those of the last batch alone; names: x, NumPy
import numpy as np
import torch

torch.manual_seed(0)
rng = np.random.default_rng(0)
w = torch.randn(4, 2, requires_grad=True)
buffer = np.empty((8, 4), np.float32)
losses = []
for batch in range(3):
    buffer[...] = rng.standard_normal((8, 4))  #< cause
    x = torch.from_numpy(buffer.copy())  #! x = torch.from_numpy(buffer)
    losses.append(((x @ w) ** 2).mean())
torch.stack(losses).sum().backward()
