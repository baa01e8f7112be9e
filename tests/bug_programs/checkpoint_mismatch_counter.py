# kind: checkpoint-mismatch; symptom: gradients differ from those without checkpoints, no error; names: Scaled, mul
import torch

torch.manual_seed(0)


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x):
        scale = 0.5
        scale = 0.5  #! self.calls += 1
        scale = 0.5  #! scale = 1 / self.calls
        return torch.tanh(self.linear(x) * scale)  #< cause


block = Scaled()
x = torch.randn(3, 4, requires_grad=True)
torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False).sum().backward()
