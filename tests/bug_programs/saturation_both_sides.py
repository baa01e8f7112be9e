# kind: saturation; symptom: gates stay wide open or shut; names: scores, sigmoid
import torch

torch.manual_seed(0)
keys = torch.randn(40, 16)
scores = torch.nn.Parameter(torch.randn(16, 8) * 0.2)  #! scores = torch.nn.Parameter(torch.randn(16, 8) * 60)
for step in range(3):
    gates = torch.sigmoid(keys @ scores)  #< cause
    loss = ((gates - 0.5) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        scores -= 0.1 * scores.grad
    scores.grad = None
