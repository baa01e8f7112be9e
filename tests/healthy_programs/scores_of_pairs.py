import torch

torch.manual_seed(0)
q, k = torch.randn(5, 1, requires_grad=True), torch.randn(5, requires_grad=True)
place = torch.arange(5.0)
distance = (place[:, None] - place[None, :]).abs()
for step in range(3):
    score = q - k - 0.1 * distance
    loss = (torch.softmax(score, 1) * distance).sum(1).mean() + 0.01 * (q**2).sum() + 0.01 * (k**2).sum()
    loss.backward()
    with torch.no_grad():
        for p in (q, k):
            p -= 0.5 * p.grad
            p.grad.zero_()
print("loss", loss.item() < 1e9)
