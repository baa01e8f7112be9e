# kind: hook-never-fires; symptom: the map of gradients stays empty; names: keep, never fired
import torch

torch.manual_seed(0)
grads, maps = [], []


def keep(grad):
    grads.append(grad)


def look(module, args, out):
    maps.append(out.detach())
    out.register_hook(keep)  #! out.detach().requires_grad_(True).register_hook(keep)


conv = torch.nn.Conv2d(1, 4, 3, padding=1)
model = torch.nn.Sequential(conv, torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
conv.register_forward_hook(look)
model(torch.randn(2, 1, 8, 8))[:, 1].sum().backward()
print(len(maps), len(grads))
