# kind: hook-never-fires; symptom: no gradient of the features is stored; names: feats
import torch

torch.manual_seed(0)
image = torch.rand(1, 12)
filters = torch.randn(12, 8, requires_grad=True)
classes = torch.randn(8, 3, requires_grad=True)


def extract(picture):
    return torch.relu(picture @ filters)


def heat(picture):
    stored = {}
    feats = extract(picture)
    feats.register_hook(lambda g: stored.update(slope=g))  #< cause
    logits = feats @ classes  #! logits = extract(picture) @ classes
    torch.nn.functional.cross_entropy(logits, torch.tensor([1])).backward()
    return stored.get("slope")


print(heat(image))
