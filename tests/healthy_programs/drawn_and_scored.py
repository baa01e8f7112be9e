# Actions that are drawn and scored, also where a critic judges them; codes that are passed straight through.
import torch
from torch.distributions import Bernoulli, Normal, OneHotCategorical

torch.manual_seed(0)
actor, critic, width = torch.nn.Linear(3, 2), torch.nn.Linear(4, 1), torch.nn.Parameter(torch.zeros(1))
encode, decode, gate = torch.nn.Linear(4, 6), torch.nn.Linear(6, 4), torch.nn.Linear(4, 4)
parts = torch.nn.ModuleList([actor, critic, encode, decode, gate])
optimizer = torch.optim.Adam([*parts.parameters(), width], lr=0.01)
for _ in range(4):
    state, x = torch.randn(9, 3), torch.randn(8, 4)
    centre, log_width = actor(state).chunk(2, 1)
    policy = Normal(centre, (log_width + width).exp())
    action = policy.sample()
    judged = critic(torch.cat([state, action], 1)).squeeze(1)
    reward = -(action.squeeze(1) - state[:, 0]).square()
    loss = -(policy.log_prob(action).squeeze(1) * (reward - judged.detach())).mean() + (judged - reward).square().mean()
    codes, kept = OneHotCategorical(logits=encode(x)), Bernoulli(logits=gate(x))
    code, mask = codes.sample() + codes.probs - codes.probs.detach(), kept.sample()
    missed = (decode(code) * mask - x).square().mean(1)
    loss = loss + missed.mean() + (missed.detach() * kept.log_prob(mask).sum(1)).mean() + codes.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(bool(loss.isfinite()))
