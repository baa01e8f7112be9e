# kind: checkpoint-mismatch; symptom: gradients are noisier than without checkpoints; names: random.random(), Stack.run
import random

import torch

torch.manual_seed(0)
random.seed(3)


class Stack(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(6)])

    def run(self, x, strengths):
        for layer, strength in zip(self.layers, strengths):
            strength = float(strength)  #! strength = 2.0 * random.random()
            x = x + strength * torch.tanh(layer(x))
        return x

    def forward(self, x):
        strengths = [2.0 * random.random() for _ in self.layers]
        return torch.utils.checkpoint.checkpoint(self.run, x, strengths, use_reentrant=False)


net = Stack()
x = torch.randn(3, 4)
for step in range(4):
    net(x).pow(2).sum().backward()
    net.zero_grad()
