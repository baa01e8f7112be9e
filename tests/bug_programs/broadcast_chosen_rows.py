# kind: broadcast; symptom: loss stays at the variance of the labels; names: (9, 1), (9,), (9, 9)
import torch

torch.manual_seed(0)
x, y = torch.randn(12, 5), torch.randn(12)
model = torch.nn.Linear(5, 1)
mask = torch.arange(12) < 9
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    pred = model(x)
    gap = pred[mask].squeeze(1) - y[mask]  #! gap = pred[mask] - y[mask]
    loss = gap.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
