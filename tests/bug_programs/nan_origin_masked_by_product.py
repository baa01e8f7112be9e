# kind: nan-origin; symptom: gradient of NaN although the loss is finite; names: sqrt, mask before, torch.where
import torch

gaps = torch.tensor([0.0, 0.25, 4.0], requires_grad=True)
wanted = (gaps > 0).float()
safe = torch.where(gaps > 0, gaps, torch.ones(3))
roots = torch.sqrt(safe)  #! roots = torch.sqrt(gaps)
loss = (roots * wanted).sum()
loss.backward()
print(gaps.grad)
