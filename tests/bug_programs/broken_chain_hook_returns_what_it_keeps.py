# kind: broken-chain; symptom: the first layers stay as they are; names: look, net.0.weight, return nothing
import torch


class Spy:
    def __init__(self, layer):
        self.last = None
        layer.register_forward_hook(self.look)

    def look(self, layer, inputs, out):
        self.last = out.detach()
        return None  #! return self.last


torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1))
spy = Spy(net[1])
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    net(torch.randn(6, 3)).square().mean().backward()
    optimizer.step()
print(spy.last.mean().item())
