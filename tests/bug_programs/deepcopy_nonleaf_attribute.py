# kind: deepcopy-nonleaf; symptom: Only Tensors created explicitly by the user support the deepcopy protocol; names: h, self.last
import copy

import torch


class Probe:
    def __init__(self):
        self.weight = torch.ones(3, 3, requires_grad=True)

    def __call__(self, x):
        h = torch.tanh(x @ self.weight)
        self.last = h.detach()  #! self.last = h
        return h.sum()


probe = Probe()
probe(torch.ones(2, 3)).backward()
best = copy.deepcopy(probe)  #< cause
