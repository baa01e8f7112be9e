# kind: lost-update; symptom: the energy stays where it is; names: point
import torch


def descend(point):
    (slope,) = torch.autograd.grad((point**2).sum(), point)
    following = torch.add(slope * -0.1, point.detach()).clamp(-5.0, 5.0)  #< cause
    return following.requires_grad_()  #! return point


place = torch.tensor([3.0, -2.0], requires_grad=True)
for _ in range(5):
    place = descend(place)
