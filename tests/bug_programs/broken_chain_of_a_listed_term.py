# kind: broken-chain; symptom: the smoothness term has no effect on the trained weights; names: filters, tolist
import torch

torch.manual_seed(0)
layer = torch.nn.Linear(6, 3)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
x, y = torch.randn(12, 6), torch.randn(12, 3)


def roughness(module):
    filters = module.weight * 1.0
    rows = filters  #! rows = torch.tensor(filters.tolist())  #< cause
    return (rows[:, 1:] - rows[:, :-1]).abs().mean()


for step in range(5):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(layer(x), y) + 0.5 * roughness(layer)
    loss.backward()
    optimizer.step()
print(loss.item())
