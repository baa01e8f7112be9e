# kind: silent-inplace; symptom: gradients are those of changed activations; names: h, NumPy
import torch

torch.manual_seed(0)
w = torch.randn(4, 6, requires_grad=True)
h = torch.tanh(torch.randn(8, 4) @ w)
loss = (h * h).mean()
shown = h.detach().numpy().copy()  #! shown = h.detach().numpy()
shown -= shown.mean(axis=0)  #< cause
loss.backward()
