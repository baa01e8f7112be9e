# kind: broadcast; symptom: the loss does not go below the variance; names: pred
import torch

torch.manual_seed(0)
x = torch.randn(12, 3)
y = torch.randn(12)
w = torch.randn(3, 1, requires_grad=True)
pred = x @ w
pred = pred.squeeze(1)  #! pass
loss = ((pred - y) ** 2).mean()  #< cause
loss.backward()
