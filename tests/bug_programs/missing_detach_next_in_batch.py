# kind: missing-detach; symptom: the critic does not settle; names: bootstrapped
import torch

torch.manual_seed(0)
w1 = (torch.randn(4, 8) * 0.5).requires_grad_()
w2 = (torch.randn(8, 1) * 0.5).requires_grad_()
for step in range(3):
    episodes, rewards = torch.randn(6, 11, 4), torch.randn(6, 10)
    values = (torch.tanh(episodes @ w1) @ w2).squeeze(2)
    following = values[:, 1:]
    bootstrapped = rewards + 0.95 * following.detach()  #! bootstrapped = rewards + 0.95 * following
    loss = torch.nn.functional.mse_loss(values[:, :-1], bootstrapped)
    loss.backward()
    with torch.no_grad():
        for p in (w1, w2):
            p -= 0.05 * p.grad
            p.grad = None
