# kind: frozen-parameter; symptom: One of the differentiated Tensors does not require grad; names: gain, does not require grad
import torch

torch.manual_seed(0)
gain = torch.ones(4, requires_grad=True)  #! gain = torch.ones(4)
projection = torch.randn(4, 2, requires_grad=True)
x = torch.randn(7, 4)
loss = ((x * gain) @ projection).square().mean()
grads = torch.autograd.grad(loss, [gain, projection])
