# kind: missing-detach; symptom: values of late states are dragged down; names: target
import torch

torch.manual_seed(0)
features = torch.randn(30, 5)
reward = torch.randn(29)
w = torch.zeros(5, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.05)
for sweep in range(3):
    value = features @ w
    target = reward + 0.9 * value[1:].detach()  #! target = reward + 0.9 * value[1:]
    loss = (value[:-1] - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
