# kind: deepcopy-nonleaf; symptom: Only Tensors created explicitly by the user support the deepcopy protocol; names: hidden
import copy

import torch


class Cell:
    def __init__(self):
        self.weight = torch.ones(3, 3, requires_grad=True)
        self.hidden = torch.zeros(2, 3)

    def step(self, x):
        self.hidden = torch.tanh(x @ self.weight + self.hidden)
        return self.hidden.sum()


cell = Cell()
loss = cell.step(torch.ones(2, 3))
loss.backward()
cell.hidden = cell.hidden.detach()  #! pass
best = copy.deepcopy(cell)  #< cause
