# kind: nan-origin; symptom: the loss is minus infinity; names: log, weights
import torch

counts = torch.tensor([0.0, 3.0])
share = torch.where(counts > 0, 1 / counts, torch.zeros(2))  # the infinity here goes nowhere
weights = torch.tensor([0.5, 0.0], requires_grad=True)
terms = torch.log(weights + 0.1)  #! terms = torch.log(weights)
loss = (terms * (share + 1)).sum()
loss.backward()
print(loss.item())
