# kind: missing-copy; symptom: a bad step is never undone; names: restores nothing, clone
import torch

torch.manual_seed(0)
rate = torch.nn.Parameter(torch.ones(3))
shift = torch.nn.Parameter(torch.zeros(3))
optimizer = torch.optim.SGD([rate, shift], lr=0.5)
for _ in range(4):
    before = [p.detach().clone() for p in (rate, shift)]  #! before = [p.detach() for p in (rate, shift)]
    x = torch.randn(9, 3)
    loss = (x * rate + shift - 2 * x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        worse = (x * rate + shift - 2 * x).square().mean() > 0.1 * loss
        if worse:
            for p, old in zip((rate, shift), before, strict=True):
                p.copy_(old)
