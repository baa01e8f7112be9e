# kind: inference-tensor; symptom: Inference tensors cannot be saved for backward, after the first evaluation; names: levels['gain'], no_grad; torch only
import torch

torch.manual_seed(0)
sound, level = torch.randn(12, 3), torch.rand(12, 1)
w = torch.randn(3, 1, requires_grad=True)
levels = {"gain": torch.ones(1)}


def evaluate():
    with torch.no_grad():  #! with torch.inference_mode():
        levels["gain"] = 1 / (sound @ w).abs().mean().reshape(1)  #< cause
        error = (sound @ w * levels["gain"] - level).abs()
        worst = error.max()
        return float(worst)


for epoch in range(2):
    loss = ((sound @ w * levels["gain"] - level) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.05 * w.grad
        w.grad = None
    evaluate()
