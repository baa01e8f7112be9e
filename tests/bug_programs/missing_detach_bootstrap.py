# kind: missing-detach; symptom: values diverge; names: target
import torch

torch.manual_seed(0)
states = torch.randn(8, 3)
following = torch.randn(8, 3)
reward = torch.randn(8)
w1 = torch.randn(3, 6, requires_grad=True)
w2 = torch.randn(6, 2, requires_grad=True)


def q_values(s):
    return torch.tanh(s @ w1) @ w2


for step in range(3):
    taken = q_values(states)[:, 0]
    best = q_values(following).max(1)[0]
    target = reward + 0.9 * best.detach()  #! target = reward + 0.9 * best
    loss = ((taken - target) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for p in (w1, w2):
            p -= 0.05 * p.grad
            p.grad = None
