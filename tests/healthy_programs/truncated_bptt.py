import torch

torch.manual_seed(3)
sequence = torch.randn(24, 4, 3)
w_in = (torch.randn(3, 8) * 0.3).requires_grad_(True)
w_rec = (torch.randn(8, 8) * 0.2).requires_grad_(True)
w_out = (torch.randn(8, 3) * 0.3).requires_grad_(True)
parameters = [w_in, w_rec, w_out]
state = torch.zeros(4, 8)
for start in range(0, 23, 6):
    state = state.detach()
    loss = torch.zeros(())
    for t in range(start, min(start + 6, 23)):
        state = torch.tanh(sequence[t] @ w_in + state @ w_rec)
        loss = loss + ((state @ w_out - sequence[t + 1]) ** 2).mean()
    for p in parameters:
        p.grad = None
    loss.backward()
    with torch.no_grad():
        norm = sum(float((p.grad**2).sum()) for p in parameters) ** 0.5
        scale = min(1.0, 1.0 / (norm + 1e-6))
        for p in parameters:
            p -= 0.05 * scale * p.grad
print("norm", norm > 0)
