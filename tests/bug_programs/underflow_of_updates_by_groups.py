# kind: underflow; symptom: the loss goes neither up nor down; names: weight and net.gain, rounded away, float32
import torch


class Gain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(6))
        self.gain = torch.nn.Parameter(torch.full((1,), 2.0))

    def forward(self, x):
        return x * self.weight * self.gain


torch.manual_seed(0)
net = Gain().half()
groups = [{"params": [net.weight]}, {"params": [net.gain], "lr": 2e-4}]
groups[1]["lr"] = 0.05  #! groups[1]["lr"] = 0.0003
opt = torch.optim.SGD(groups, lr=1e-4)


def step(batch):
    opt.zero_grad()
    net(batch.half()).float().sub(1).square().mean().backward()
    opt.step()  #< cause


for _ in range(8):
    step(torch.rand(16, 6))
