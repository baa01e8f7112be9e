# kind: optimizer-mismatch; symptom: the gains of the layers stay one; names: gains
import torch


class Stack(torch.nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(depth))
        ones = torch.nn.ParameterList([torch.nn.Parameter(torch.ones(width)) for _ in range(depth)])
        self.gains = ones  #! self.gains = [torch.nn.Parameter(torch.ones(width)) for _ in range(depth)]

    def forward(self, x):
        for layer, gain in zip(self.layers, self.gains, strict=True):
            x = x + gain * torch.tanh(layer(x))
        return x


torch.manual_seed(0)
stack = Stack(4, 2)
optimizer = torch.optim.SGD(stack.parameters(), lr=0.05)
for _ in range(4):
    x = torch.randn(8, 4)
    loss = (stack(x) - 2 * x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
