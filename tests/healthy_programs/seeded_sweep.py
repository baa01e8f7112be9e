import numpy as np
import torch


def fit(rate, trial):
    torch.manual_seed(1)
    rng = np.random.default_rng(trial)
    x = torch.from_numpy(rng.normal(size=(10, 3)).astype("float32"))
    w = torch.randn(3, requires_grad=True)
    for _ in range(3):
        noise = 0.1 * torch.randn(10, 3)
        loss = ((x + noise) @ w - x.sum(1)).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            w -= rate * w.grad
            w.grad = None
    return loss.item()


print({(rate, trial): fit(rate, trial) for rate in (0.01, 0.1) for trial in range(2)})
h, weight, scores = torch.zeros(1, 4), torch.randn(4, 4, requires_grad=True), []
for t in range(25):
    h = torch.tanh(torch.randn(1, 4) + h @ weight)
    scores.append(h.sum())
loss = torch.stack(scores).mean()
loss.backward()
print(loss.item(), sum(score.item() for score in scores))
