import torch

torch.manual_seed(0)
layers = [torch.nn.Linear(4, 4) for _ in range(4)]
model = torch.nn.Sequential(*layers, torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(8, 4)
    loss = (model(x) - x[:, :1]).pow(2).mean()
    regular = loss + 1e-4 * sum(p.pow(2).sum() for p in model.parameters())  # only looked at
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
size = sum(p.pow(2).sum() for p in model.parameters())
lengths = torch.zeros(())
for p in model.parameters():
    lengths = lengths + p.norm()
print("positive:", regular.item() > 0, size.item() > 0, lengths.item() > 0)
