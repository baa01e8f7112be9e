"""Results that are constant now and then: attention to one word at first, one expert of many, a ratio of 1."""

import torch

torch.manual_seed(0)
F = torch.nn.functional

# attention over what was read so far, one word more in each step
key, value = torch.nn.Linear(5, 1), torch.nn.Linear(5, 3)
opt = torch.optim.SGD([*key.parameters(), *value.parameters()], lr=0.1)
words, wanted = torch.randn(8, 4, 5), torch.randn(8, 3)
for length in range(1, 5):
    seen = words[:, :length]
    share = torch.softmax(key(seen), 1)
    loss = ((share * value(seen)).sum(1) - wanted).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"{float(loss.detach()):.3f}")

# the best expert alone, and a router that a balancing loss trains
router = (torch.randn(5, 3) * 0.5).requires_grad_()
experts = torch.randn(3, 5).requires_grad_()
x, y = words[:, 0], wanted[:, :1]
for step in range(3):
    logits = x @ router
    best, which = logits.topk(1, dim=1)
    out = torch.softmax(best, 1) * (x * experts[which[:, 0]]).sum(1, keepdim=True)
    loss = (out - y).pow(2).mean() + 0.1 * (torch.softmax(logits, 1).mean(0) - 1 / 3).pow(2).sum()
    loss.backward()
    with torch.no_grad():
        for p in (router, experts):
            p -= 0.1 * p.grad
            p.grad = None
print(f"{float(loss.detach()):.3f}")

# a ratio to the policy before, and a value passed straight through
policy = torch.nn.Linear(5, 3)
opt = torch.optim.SGD(policy.parameters(), lr=0.1)
for step in range(3):
    chance = F.log_softmax(policy(x), 1)
    ratio = torch.exp(chance - chance.detach())
    code = chance + (chance.round() - chance).detach()
    loss = -(ratio * wanted).mean() + 0.1 * code.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"{float(loss.detach()):.3f}")
