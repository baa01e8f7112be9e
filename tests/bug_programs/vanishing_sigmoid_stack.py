# kind: vanishing; symptom: the first layers do not learn; names: sigmoid
import torch

torch.manual_seed(0)
layers = [torch.randn(8, 8) * 0.1 for _ in range(16)]
for w in layers:
    w.requires_grad_()
h = torch.randn(10, 8)
for w in layers:
    z = h @ w
    h = h + torch.relu(z)  #! h = torch.sigmoid(z)
loss = (h**2).mean()
loss.backward()
