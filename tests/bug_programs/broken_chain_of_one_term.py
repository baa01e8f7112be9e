# kind: broken-chain; symptom: the weights ignore the profit and only become equal; names: daily, numpy
import numpy as np
import torch

torch.manual_seed(0)
returns = torch.randn(20, 4) * 0.1 + torch.tensor([0.2, 0.0, 0.0, -0.1])
logits = torch.tensor([0.5, -0.5, 0.2, 0.0], requires_grad=True)


def profit(weights):
    daily = returns @ weights
    if daily.numel():
        return daily.cumsum(0)[-1] / 20  #! return torch.from_numpy(np.cumsum(daily.detach().numpy()))[-1] / 20


for step in range(10):
    weights = torch.softmax(logits, 0)
    loss = 0.2 * (weights**2).sum() - profit(weights)
    loss.backward()
    with torch.no_grad():
        logits -= logits.grad
        logits.grad = None
print(weights.tolist(), np.pi)
