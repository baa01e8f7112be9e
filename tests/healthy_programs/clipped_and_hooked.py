import torch

torch.manual_seed(0)
x = torch.randn(10, 3)
y = torch.randn(10, 1)
w = torch.randn(3, 4, requires_grad=True)
v = torch.randn(4, 1, requires_grad=True)
seen = []
w.register_hook(lambda grad: grad.clamp(-1.0, 1.0))
for step in range(3):
    hidden = torch.relu(x @ w)
    handle = hidden.register_hook(lambda grad: seen.append(float(grad.abs().max())))
    loss = ((hidden @ v - y) ** 2).mean()
    loss.backward()
    handle.remove()
    norm = torch.sqrt(sum((p.grad**2).sum() for p in (w, v)))
    with torch.no_grad():
        for p in (w, v):
            p -= 0.05 * p.grad / max(float(norm), 1.0)
            p.grad = None
print(len(seen))
