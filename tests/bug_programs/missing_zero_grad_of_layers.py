# kind: missing-zero-grad; symptom: steps grow larger and larger; names: net.0.weight, net[, .grad = None
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
for _ in range(3):
    loss = (net(torch.randn(8, 3)) - 1).square().mean()
    loss.backward()  #< cause
    with torch.no_grad():
        for p in net.parameters():
            p -= 0.1 * p.grad
            p.grad = None  #! pass
