import torch

torch.manual_seed(0)
losses, layers = [], []
for step in range(3):  # as threads may do that compute at the same time
    layer = torch.nn.Linear(4, 4)
    x = torch.ones(2, 4, requires_grad=True)
    losses.append(layer(x).square().sum())
    layers.append(layer)
for loss in losses:
    loss.backward()
print("gradients", all(layer.weight.grad is not None for layer in layers))
