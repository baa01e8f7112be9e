# kind: missing-detach; symptom: the exact estimate gets worse with the quick one beside it; names: price, w2, detach
import torch

torch.manual_seed(0)
w1, w2 = torch.randn(4, 6, requires_grad=True), torch.randn(6, 1, requires_grad=True)
quick = torch.zeros(6, 1, requires_grad=True)
for step in range(3):
    house = torch.randn(9, 4)
    with torch.no_grad():
        seen = torch.tanh(house @ w1)
    price = torch.tanh(house @ w1) @ w2  #< cause
    loss = ((price - house[:, :1]) ** 2).mean()
    loss = loss + 0.5 * torch.nn.functional.mse_loss(seen @ quick, price.detach())  #! loss = loss + 0.5 * torch.nn.functional.mse_loss(seen @ quick, price)
    loss.backward()
    with torch.no_grad():
        for p in (w1, w2, quick):
            p -= 0.05 * p.grad
            p.grad = None
