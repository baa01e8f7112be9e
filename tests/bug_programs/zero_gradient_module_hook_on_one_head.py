# kind: zero-gradient; symptom: the body learns from one head alone; names: <lambda>, body, nothing; torch only
import torch
from torch import nn

torch.manual_seed(0)
body, value, policy = nn.Linear(3, 6), nn.Linear(6, 1), nn.Linear(6, 2)
pass  #! value.register_full_backward_hook(lambda module, given, came: (torch.zeros_like(given[0]),))
optimizer = torch.optim.SGD([*body.parameters(), *value.parameters(), *policy.parameters()], lr=0.1)
for _ in range(3):
    seen = torch.tanh(body(torch.randn(5, 3)))
    loss = value(seen).square().mean() + policy(seen).logsumexp(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
