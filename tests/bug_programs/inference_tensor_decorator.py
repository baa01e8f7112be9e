# kind: inference-tensor; symptom: Inference tensors cannot be saved for backward; names: embed
import torch

torch.manual_seed(0)
table = torch.randn(7, 3)
w = torch.randn(3, requires_grad=True)


@torch.no_grad()  #! @torch.inference_mode()
def embed(rows):
    return table[rows] * 2.0


vectors = embed(torch.tensor([1, 2, 5]))  #< cause
loss = (vectors * w).sum()
loss.backward()
