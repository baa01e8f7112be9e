# kind: missing-create-graph; symptom: the learned penalty is never trained; names: create_graph=True
import torch

torch.manual_seed(0)
weights = torch.nn.Parameter(torch.randn(5, 1))
penalty = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
outer = torch.optim.Adam(penalty.parameters(), lr=0.01)
inner = torch.optim.SGD([weights], lr=0.1)

for _ in range(4):
    x, held_out = torch.randn(12, 5), torch.randn(12, 5)
    cost = (x @ weights - x[:, :1]).square().mean() + penalty(weights.t()).square().sum()
    (slope,) = torch.autograd.grad(cost, [weights], create_graph=True)  #! (slope,) = torch.autograd.grad(cost, [weights])
    ahead = weights - 0.1 * slope
    later = (held_out @ ahead - held_out[:, :1]).square().mean()
    outer.zero_grad()
    later.backward()
    outer.step()
    with torch.no_grad():
        size = penalty(weights.t()).square().sum()
    fit = (x @ weights - x[:, :1]).square().mean() * (1 + size)
    inner.zero_grad()
    fit.backward()
    inner.step()
