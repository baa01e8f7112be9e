# kind: silent-inplace; symptom: gradients of the first layer are slightly off; names: scale, NumPy
import torch

torch.manual_seed(0)
weight = torch.randn(4, 5, requires_grad=True)
scale = torch.ones(5)
for step in range(3):
    h = torch.randn(6, 4) @ weight
    out = h * scale
    new = 0.9 * scale + 0.1 * h.detach().abs().mean(0)
    scale = new  #! scale.numpy()[:] = new.numpy()
    loss = out.square().mean()
    loss.backward()
    with torch.no_grad():
        weight -= 0.1 * weight.grad
        weight.grad = None
