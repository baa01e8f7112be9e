# kind: underflow; symptom: gradients are there, but the weights never change; names: scale, lr=1e-05, rounded away
import torch

torch.manual_seed(0)
scale = torch.full((4, 1), 100.0, dtype=torch.float16).requires_grad_(True)
optimizer = torch.optim.SGD([scale], lr=1.0)  #! optimizer = torch.optim.SGD([scale], lr=1e-5)
for step in range(10):
    x = torch.rand(8, 4).half()
    loss = ((x @ scale).float() / 100 - 1).pow(2).mean()
    optimizer.zero_grad()
    (loss * 100).backward()
    optimizer.step()  #< cause
