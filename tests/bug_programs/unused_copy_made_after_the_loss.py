# kind: unused-parameter; symptom: RuntimeError, one of the tensors was not used in the graph; names: table, after score
import torch


def influence(table, row, readout):
    score = torch.tanh(table @ readout).sum()
    chosen = table  #! chosen = table.index_select(0, torch.tensor([row]))
    return torch.autograd.grad(score, chosen)[0].norm()


torch.manual_seed(8)
table = torch.randn(5, 4, requires_grad=True)
print(influence(table, 2, torch.randn(4)))
