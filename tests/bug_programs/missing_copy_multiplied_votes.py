# kind: missing-copy; symptom: all members of the committee vote alike; names: 4 times, [torch.nn.Bilinear(3, 3, 1)] * members
import torch


def committee(members):
    return torch.nn.ModuleList([torch.nn.Bilinear(3, 3, 1) for _ in range(members)])  #! return torch.nn.ModuleList(members * [torch.nn.Bilinear(3, 3, 1)])


torch.manual_seed(0)
votes = committee(4)
optimizer = torch.optim.SGD(votes.parameters(), lr=0.05)
for step in range(3):
    a = torch.randn(7, 3)
    optimizer.zero_grad()
    (torch.stack([one(a, a) for one in votes]).mean(0) - 1).square().mean().backward()
    optimizer.step()
