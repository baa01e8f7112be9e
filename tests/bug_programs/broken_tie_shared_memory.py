# kind: broken-tie; symptom: both change together but each has its own gradient; names: head
import torch

torch.manual_seed(0)
embedding = torch.randn(5, 3, requires_grad=True)
head = embedding  #! head = embedding.detach().requires_grad_(True)
tokens = torch.tensor([0, 2, 4])
vectors = embedding[tokens]
logits = vectors @ head.t()
loss = (logits**2).mean()
loss.backward()
