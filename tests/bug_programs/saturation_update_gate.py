# kind: saturation; symptom: the gate's layer gets gradients of zero; names: sigmoid, gate.weight, gate.bias
import torch


class Cell(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = torch.nn.Linear(3, 6)
        self.new = torch.nn.Linear(3, 6)
        torch.nn.init.constant_(self.gate.bias, 1.0)  #! torch.nn.init.constant_(self.gate.bias, 50.0)

    def forward(self, x, h):
        new = torch.tanh(self.new(x))
        open_ = torch.sigmoid(self.gate(x))  #< cause
        return open_ * h + new


torch.manual_seed(0)
cell, read = Cell(), torch.nn.Linear(6, 1)
sgd = torch.optim.SGD([*cell.parameters(), *read.parameters()], lr=0.001)
series = torch.randn(8, 10, 3)
for step in range(3):
    h = torch.zeros(8, 6)
    for t in range(10):
        h = cell(series[:, t], h)
    loss = (read(h) - series.sum((1, 2))[:, None]).pow(2).mean()
    sgd.zero_grad()
    loss.backward()
    sgd.step()
