import torch

torch.manual_seed(0)
loc = torch.nn.Parameter(torch.zeros(3))
log_scale = torch.nn.Parameter(torch.zeros(3))
opt = torch.optim.Adam([loc, log_scale], 0.05)
data = torch.randn(20, 3) + 1


def estimate():
    q = torch.distributions.Normal(loc, log_scale.exp())
    z = q.rsample()
    value, surrogate = 0.0, 0.0
    for row in data:
        lp = torch.distributions.Normal(z, 1.0).log_prob(row).sum()
        value = value + lp.item()
        surrogate = surrogate + lp
    entropy = -q.log_prob(z).sum()
    value += entropy.item()
    surrogate = surrogate + entropy
    return -value + (surrogate.neg() - surrogate.neg().item())


for _ in range(4):
    opt.zero_grad()
    loss = estimate()
    loss.backward()
    opt.step()
    print(loss.item())
