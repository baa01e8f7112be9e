# kind: broken-chain; symptom: the second pass has no graph; names: bend, copy_
import torch

torch.manual_seed(0)
bend = torch.tensor([0.5, -1.0], requires_grad=True)
angles = torch.linspace(0.0, 2.0, 7)
for _ in range(3):
    gap = bend[0] * torch.sin(angles + bend[1]) - torch.cos(angles)
    gap.abs().sum().backward()
    with torch.no_grad():  #< cause
        bend.sub_(bend.grad, alpha=0.05)  #! bend = bend.sub(bend.grad, alpha=0.05)
    bend.grad = None
