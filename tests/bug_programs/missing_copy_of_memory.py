# kind: missing-copy; symptom: the slow network is never slower; names: slow.weight, not a copy; torch only
import torch

torch.manual_seed(0)
fast, slow = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
for mine, other in zip(slow.parameters(), fast.parameters()):
    mine.requires_grad_(False)
    mine.data = other.data.clone()  #! mine.data = other.data
optimizer = torch.optim.SGD(fast.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(5, 3)
    loss = (fast(x) - slow(x)).square().mean() + (fast(x) - x[:, :2]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for mine, other in zip(slow.parameters(), fast.parameters()):
            mine.lerp_(other, 0.1)
