# kind: zero-gradient; symptom: the gradient of the temperature is exactly zero; names: clamp, log_scale
import torch

torch.manual_seed(0)
w = torch.randn(3, 2, requires_grad=True)
log_scale = torch.tensor(2.0, requires_grad=True)
x, y = torch.randn(8, 3), torch.randn(8, 2)
for step in range(3):
    scale = torch.clamp(torch.exp(log_scale), min=0.01, max=100.0)  #! scale = torch.clamp(torch.exp(log_scale), 0.01, 1.0)
    loss = ((x @ w * scale - y) ** 2).mean()
    w.grad = log_scale.grad = None
    loss.backward()
    with torch.no_grad():
        w -= 0.01 * w.grad
        log_scale -= 0.01 * log_scale.grad
