# kind: overlapping-inplace; symptom: all rows are the same sum; names: belief, expand_as, clone
import torch

torch.manual_seed(8)
prior = torch.randn(1, 4, requires_grad=True)
evidence = torch.randn(6, 4)


def posterior(prior, evidence):
    belief = (prior * 2).expand_as(evidence).clone()  #! belief = (prior * 2).expand_as(evidence)
    for row in range(len(evidence)):
        belief[row] += evidence[row]
    return belief.logsumexp(1)


posterior(prior, evidence).sum().backward()
print(prior.grad.shape)
