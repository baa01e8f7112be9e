import torch

# Neighbouring entries of one result are drawn together beside data: an equation's residual, and a prior on a path.
torch.manual_seed(0)
times = torch.linspace(0, 1, 20)[:, None]
observed = torch.sin(times)
force = torch.randn(19, 1)
network = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
path = torch.nn.Parameter(torch.randn(20, 1))
optimizer = torch.optim.Adam([*network.parameters(), path], lr=1e-2)
for step in range(3):
    out = network(times)
    residual = (force * 0.05 + 0.9 * out[1:] - out[:-1]).pow(2).mean()
    follows = torch.nn.functional.mse_loss(out[:-1], 0.1 * force + 0.9 * out[1:])
    loss = torch.nn.functional.mse_loss(out, observed) + 0.1 * residual + 0.1 * follows
    prior = (path[1:] - (0.9 * path[:-1] + force)).pow(2).mean() + (path[:-1] - (force + 0.9 * path[1:])).pow(2).mean()
    loss = loss + (path - observed).pow(2).mean() + prior
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(step, bool(torch.isfinite(loss)))
