# kind: broken-chain; symptom: the actor gets no gradient; names: mu, .rsample(; torch only
import torch
from torch.distributions import Normal

torch.manual_seed(0)
mu = torch.zeros(3, requires_grad=True)
log_std = torch.zeros(3, requires_grad=True)
reward = torch.randn(3)
for step in range(2):
    action = Normal(mu, log_std.exp()).rsample()  #! action = Normal(mu, log_std.exp()).sample()
    loss = -(reward.requires_grad_() * action).sum()
    loss.backward()
    print(mu.grad, log_std.grad)
    mu.grad = log_std.grad = None
