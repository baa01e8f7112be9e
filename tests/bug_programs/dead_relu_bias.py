# kind: dead-relu; symptom: the lower layer does not learn; names: relu, encoder
import torch

torch.manual_seed(0)
encoder = torch.randn(6, 8, requires_grad=True)
threshold = torch.full((8,), 0.5)  #! threshold = torch.full((8,), 50.0)
decoder = torch.randn(8, 6, requires_grad=True)
bias = torch.zeros(6, requires_grad=True)
x = torch.randn(20, 6)
codes = (x @ encoder - threshold).relu()  #< cause
loss = ((codes @ decoder + bias - x) ** 2).mean()
loss.backward()
