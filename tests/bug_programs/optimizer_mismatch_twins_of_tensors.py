# kind: optimizer-mismatch; symptom: the baseline stays where it began; names: v1, v2, no optimizer has them
import torch

torch.manual_seed(0)
p1, p2 = (torch.randn(4, 8) * 0.4).requires_grad_(), (torch.randn(8, 2) * 0.4).requires_grad_()
v1, v2 = (torch.randn(4, 8) * 0.4).requires_grad_(), (torch.randn(8, 1) * 0.4).requires_grad_()
policy, baseline = [p1, p2], [v1, v2]
optimizers = [torch.optim.Adam(policy, lr=1e-3)]
optimizers.append(torch.optim.Adam(baseline, lr=1e-2))  #! optimizers.append(torch.optim.Adam(policy, lr=1e-2))
for episode in range(3):
    seen, won = torch.randn(16, 4), torch.randn(16, 1)
    expected = torch.tanh(seen @ v1) @ v2
    chosen = torch.log_softmax(torch.tanh(seen @ p1) @ p2, 1)[:, :1]
    losses = [-(chosen * (won - expected).detach()).mean(), (expected - won).square().mean()]
    for optimizer in optimizers:
        optimizer.zero_grad()
    for loss in losses:
        loss.backward()
    for optimizer in optimizers:
        optimizer.step()
