import torch

torch.manual_seed(0)
stored = torch.nn.Parameter(torch.nn.functional.normalize(torch.randn(5, 6), dim=-1))
optimizer = torch.optim.SGD([stored], lr=0.1)


def energy(state):
    return 0.5 * state.square().sum() - torch.logsumexp(4 * state @ stored.T, -1).sum() / 4


state = (stored[:2] + 0.1 * torch.randn(2, 6)).detach().requires_grad_()
for _ in range(5):  # the loss goes back through all of these, so each needs those before it
    (slope,) = torch.autograd.grad(energy(state), state, create_graph=True)
    state = state - 0.5 * slope
loss = (state - stored[:2].detach()).square().mean()
loss.backward()
optimizer.step()
print(bool(loss > 0))
