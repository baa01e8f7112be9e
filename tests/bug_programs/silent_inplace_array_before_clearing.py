# kind: silent-inplace; symptom: gradients are those of other levels; names: level, NumPy
import torch

torch.manual_seed(0)
gain = torch.randn(6, requires_grad=True)
optimizer = torch.optim.Adam([gain], lr=0.01)


def loud(level):
    whole = level.square().sum()
    seen = level.detach().numpy().copy()  #! seen = level.detach().numpy()
    seen *= 0.0  #< cause
    return whole + seen.sum().item()


for _ in range(2):
    cost = loud(gain * torch.rand(6))
    optimizer.zero_grad()
    cost.backward()
    optimizer.step()
