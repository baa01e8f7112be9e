import torch

torch.manual_seed(0)
x, y = torch.randn(64, 8), torch.randn(64, 1)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
losses = []
for epoch in range(3):
    for start in range(0, 64, 16):
        batch, target = x[start : start + 16], y[start : start + 16]
        optimizer.zero_grad()
        loss = ((model(batch) - target) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
with torch.no_grad():
    final = ((model(x) - y) ** 2).mean()
print(float(final) < losses[0])
