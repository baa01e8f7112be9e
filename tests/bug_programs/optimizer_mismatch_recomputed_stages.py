# kind: optimizer-mismatch; symptom: only the ends of the network learn; names: no module registers them
import torch


class Stage(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = torch.nn.Linear(width, width)

    def forward(self, x):
        return x + torch.tanh(self.mix(x))


class Decoder(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.enter = torch.nn.Linear(2, width)
        self.stages = torch.nn.ModuleList(Stage(width) for _ in range(3))  #! self.stages = {n: Stage(width) for n in range(3)}.values()
        self.leave = torch.nn.Linear(width, 1)

    def forward(self, x):
        x = self.enter(x)
        for stage in self.stages:
            x = torch.utils.checkpoint.checkpoint(stage, x, use_reentrant=False)
        return self.leave(x)


torch.manual_seed(6)
decoder = Decoder(6)
optimizer = torch.optim.Adagrad(decoder.parameters(), lr=0.05)
for _ in range(5):
    signal = torch.randn(10, 2)
    loss = (decoder(signal) - signal.sin().sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
