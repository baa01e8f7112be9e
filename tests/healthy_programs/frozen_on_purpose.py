"""Freezing by name and by index that means all it reaches: encoders of one sort, a moving average, chosen layers."""

import torch


def tower():
    return torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.ReLU(), torch.nn.Linear(6, 6))


class Probe(torch.nn.Module):
    def __init__(self, *names):
        super().__init__()
        self.names = names
        for name in names:
            setattr(self, name, tower())
        self.head = torch.nn.Linear(6, 3)

    def forward(self, x):
        return self.head(sum(getattr(self, name)(x) for name in self.names))


def train(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        x, labels = torch.randn(8, 6), torch.randint(0, 3, (8,))
        loss = torch.nn.functional.cross_entropy(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())


torch.manual_seed(0)
several = Probe("text_encoder", "image_encoder", "encoder")
for name, p in several.named_parameters():
    if "encoder" in name:
        p.requires_grad = False
train(several)

averaged = Probe("encoder", "encoder_ema")
averaged.encoder_ema.load_state_dict(averaged.encoder.state_dict())
for name, p in averaged.named_parameters():
    if name.startswith("encoder"):
        p.requires_grad = False
train(averaged)

chosen = torch.nn.Sequential(*(torch.nn.Linear(6, 6) for _ in range(12)))
for name, p in chosen.named_parameters():
    if int(name.split(".")[0]) in (1, 10):
        p.requires_grad = False
train(chosen)
