# kind: broken-chain; symptom: the shift of the pose is learned, its angle is not; names: tensor, angle
import torch

torch.manual_seed(0)
points = torch.randn(40, 2)
observed = points @ torch.tensor([[0.8, 0.6], [-0.6, 0.8]]) + torch.tensor([0.5, -1.0])
angle = torch.tensor(0.0, requires_grad=True)
shift = torch.zeros(2, requires_grad=True)


def turned(theta):
    c, s = torch.cos(theta), torch.sin(theta)
    return torch.stack([torch.stack([c, -s]), torch.stack([s, c])])  #! return torch.tensor([[c, -s], [s, c]])  #< cause


for step in range(30):
    loss = ((points @ turned(angle).t() + shift - observed) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for p in (angle, shift):
            if p.grad is not None:
                p -= 0.3 * p.grad
                p.grad.zero_()
print(angle.item(), shift.tolist())
