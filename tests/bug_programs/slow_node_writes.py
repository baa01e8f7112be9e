# kind: slow-node; symptom: backward takes longer than forward by far; names: table, 700
import torch

torch.manual_seed(0)
w = torch.randn(4, 128, requires_grad=True)
x = torch.randn(700, 4)


def fill(batch):
    table = torch.zeros(700, 128)
    parts = torch.tanh(batch @ w)
    table[:] = parts  #! for i in range(700): table[i] = parts[i] * 1.0
    return table


loss = fill(x).pow(2).mean()
loss.backward()
