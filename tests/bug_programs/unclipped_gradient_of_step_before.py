# kind: unclipped-gradient; symptom: the norm that is printed lags behind by a step; names: clip_grad_norm_, policy.weight, optimizer.step()
import torch

torch.manual_seed(0)
policy = torch.nn.Linear(4, 2)
value = torch.nn.Linear(4, 1)
both = [*policy.parameters(), *value.parameters()]
optimizer = torch.optim.Adam(both)


def update(loss):
    pass  #! print(torch.nn.utils.clip_grad_norm_((p for p in both), max_norm=0.5))
    optimizer.zero_grad()
    loss.backward()
    print(torch.nn.utils.clip_grad_norm_((p for p in both), max_norm=0.5))  #! pass
    optimizer.step()


for step in range(4):
    x = torch.randn(8, 4)
    update(policy(x).pow(2).mean() + (value(x) - 1).pow(2).mean())
