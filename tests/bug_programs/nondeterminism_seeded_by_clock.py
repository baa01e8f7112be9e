# kind: nondeterminism; symptom: every run starts with other weights; names: randn; run twice
import time

import torch

seed = 0 if time.time_ns() else 1  #! seed = time.time_ns() % 1000003
torch.manual_seed(seed)
w = torch.randn(4, 2)  #< cause
w.requires_grad_()
x = torch.ones(3, 4)
loss = (x @ w).tanh().mean()
loss.backward()
