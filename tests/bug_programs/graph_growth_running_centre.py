# kind: graph-growth; symptom: memory grows although the loss uses a detached centre; names: centre, detach
import torch

torch.manual_seed(0)
w = torch.randn(5, 3, requires_grad=True)
centre = torch.zeros(3)
for step in range(8):
    z = torch.tanh(torch.randn(6, 5) @ w)
    mean = z.mean(0)
    centre = 0.9 * centre + 0.1 * mean.detach()  #! centre = 0.9 * centre + 0.1 * mean
    loss = ((z - centre.detach()) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad = None
