# kind: checkpoint-mismatch; symptom: gradients are a little off; names: self.centre, after backward()
import torch


class Centred(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = torch.nn.Linear(width, width)
        self.register_buffer("centre", torch.zeros(width))

    def forward(self, x):
        return torch.tanh(self.mix(x) - self.centre)


torch.manual_seed(0)
block = Centred(4)
sgd = torch.optim.SGD(block.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(6, 4)
    y = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
    pass  #! block.centre.add_(y.detach().mean(0))
    sgd.zero_grad()
    (y - x).square().mean().backward()
    block.centre.add_(y.detach().mean(0))
    sgd.step()
