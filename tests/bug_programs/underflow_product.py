# kind: underflow; symptom: the likelihood is 0 and never changes; names: prod, each, float32
import torch

torch.manual_seed(11)
skew = torch.tensor(0.2, requires_grad=True)
flips = (torch.rand(400) < 0.6).float()
for step in range(2):
    p = torch.sigmoid(skew)
    each = flips * p + (1 - flips) * (1 - p)
    loss = -torch.log(each).sum()  #! loss = -torch.prod(each)
    skew.grad = None
    loss.backward()
    with torch.no_grad():
        skew -= 0.001 * skew.grad
print("skew", float(skew.detach()) != 0.2)
