# kind: nan-origin; symptom: the loss is NaN in the first step; names: first -inf
import torch

mean = torch.zeros(2, requires_grad=True)
scale = torch.tensor([1.0, 0.5])
spread = scale  #! spread = scale - scale
policy = torch.distributions.Normal(mean, spread, validate_args=False)
loss = -policy.log_prob(torch.ones(2)).sum()  #< cause
loss.backward()
print(mean.grad)
