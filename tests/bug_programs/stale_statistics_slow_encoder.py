# kind: stale-statistics; symptom: the slow encoder gives nonsense in evaluation; names: buffers, slow, weight; torch only
import copy

import torch

torch.manual_seed(0)
quick = torch.nn.Sequential(torch.nn.Conv1d(2, 4, 3), torch.nn.BatchNorm1d(4), torch.nn.ReLU())
slow = copy.deepcopy(quick)
slow.requires_grad_(False)
head = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD([*quick.parameters(), *head.parameters()], lr=0.05)
slow.eval()
for _ in range(5):
    wave = 3 * torch.randn(8, 2, 12) + 7
    loss = (head(quick(wave).mean(2)).squeeze(1) - wave.std((1, 2))).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for mine, theirs in zip(slow.parameters(), quick.parameters(), strict=True):
            mine.lerp_(theirs, 0.1)  #< cause
        for mine, theirs in zip(slow.buffers(), quick.buffers(), strict=True):  #! for mine, theirs in ():
            mine.copy_(theirs)
        seen = slow(wave).mean()
