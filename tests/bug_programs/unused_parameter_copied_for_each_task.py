# kind: unused-parameter; symptom: the network that is to learn from all tasks stays as it was; names: shared, copy; torch only
import copy

import torch


def adapted(network, near, wanted):
    learner = network  #! learner = copy.deepcopy(network)
    quick = torch.optim.SGD(learner.parameters(), lr=0.01)
    quick.zero_grad()
    (learner(near) - wanted).square().mean().backward()
    quick.step()
    return learner


torch.manual_seed(0)
shared = torch.nn.Sequential(torch.nn.Linear(2, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))
slow = torch.optim.Adam(shared.parameters(), lr=0.01)
for _ in range(3):
    learner = adapted(shared, torch.randn(5, 2), torch.randn(5, 1))
    learner.zero_grad()
    loss = (learner(torch.randn(5, 2)) - 1).square().mean()
    loss.backward()
    slow.step()
