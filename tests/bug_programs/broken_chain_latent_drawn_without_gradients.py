# kind: broken-chain; symptom: codes carry nothing, only the prior reaches the encoder; names: sample, encode, rsample; torch only
import torch
from torch.distributions import Normal, kl_divergence

torch.manual_seed(0)
encode, decode = torch.nn.Linear(6, 4), torch.nn.Linear(2, 6)
optimizer = torch.optim.Adam([*encode.parameters(), *decode.parameters()], lr=0.01)


def bound(x):
    centre, width = encode(x).chunk(2, dim=1)
    code = Normal(centre, torch.nn.functional.softplus(width) + 0.01)
    drawn = code.rsample()  #! drawn = code.sample()
    missed = (decode(drawn) - x).square().sum(1).mean()
    return missed + 0.1 * kl_divergence(code, Normal(0.0, 1.0)).sum(1).mean()


for _ in range(4):
    loss = bound(torch.randn(8, 6))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
