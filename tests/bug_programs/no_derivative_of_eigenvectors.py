# kind: no-derivative; symptom: RuntimeError that speaks of a phase; names: eig, abs()
import torch

turn = torch.tensor([[0.0, 1.0], [-1.0, 0.2]], requires_grad=True)
vectors = torch.linalg.eig(turn)[1]  #< cause
loss = vectors.abs().sum()  #! loss = vectors.imag.sum()
loss.backward()
print(turn.grad)
