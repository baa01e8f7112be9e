# kind: numpy-on-grad; symptom: RuntimeError where the best score is logged; names: scores
import torch

torch.manual_seed(0)
weight = torch.randn(4, 1, requires_grad=True)
scores = torch.randn(16, 4) @ weight
best = scores.detach().numpy().max()  #! best = scores.numpy().max()
loss = scores.square().mean()
loss.backward()
print(f"best {best:.3f}, loss {loss.item():.3f}")
