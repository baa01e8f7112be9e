"""Scales of one head each begin at one number: each multiplies other entries, so they part as they learn."""

import torch

torch.manual_seed(4)


class Heads(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.project = torch.nn.Linear(width, width)
        self.gain = torch.nn.Parameter(torch.full((heads, 1, width // heads), 2.0))
        self.lift = torch.nn.Parameter(torch.full((heads, 1, width // heads), 1.5))

    def forward(self, x):
        split = self.project(x).unflatten(-1, (self.heads, -1)).transpose(0, 1)
        split = torch.nn.functional.normalize(split, dim=-1) * self.gain
        return torch.tanh(split * self.lift).transpose(0, 1).flatten(1)


layers = torch.nn.Sequential(Heads(8, 2), Heads(8, 2), Heads(8, 4), Heads(8, 4), torch.nn.Linear(8, 3))
optimizer = torch.optim.AdamW(layers.parameters(), lr=2e-4)
for _ in range(5):
    loss = torch.nn.functional.cross_entropy(layers(torch.randn(10, 8)), torch.randint(0, 3, (10,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
