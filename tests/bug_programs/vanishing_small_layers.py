# kind: vanishing; symptom: the first layers learn nothing; names: linear, larger weights, layers.0.weight
import torch


class Deep(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(8))
        for layer in self.layers:
            torch.nn.init.normal_(layer.weight, std=0.25)  #! torch.nn.init.normal_(layer.weight, std=0.02)

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))  #< cause
        return x


torch.manual_seed(0)
net = Deep()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    (net(torch.randn(32, 16)) - 0.5).pow(2).mean().backward()
    opt.step()
