# kind: silent-inplace; symptom: gradients are those of other activations; names: h, NumPy
import torch


def corrupt(h):
    view = h.detach().numpy().copy()  #! view = h.detach().numpy()
    view[::2] = -1.0  #< cause
    return h


torch.manual_seed(0)
w = torch.randn(4, 6, requires_grad=True)
v = torch.randn(6, 1, requires_grad=True)
h = torch.sigmoid(torch.randn(8, 4) @ w)
h = corrupt(h)
loss = (h @ v).pow(2).mean()
loss.backward()
