# kind: nondifferentiable; symptom: the encoder gets no gradient; names: encoder
import torch

torch.manual_seed(0)
x = torch.randn(8, 5)
encoder = torch.randn(5, 3, requires_grad=True)
table = torch.randn(3, 2, requires_grad=True)
scores = x @ encoder
choice = torch.softmax(scores, 1)  #! choice = torch.argmax(scores, 1)
picked = choice @ table  #! picked = table[choice]
loss = (picked**2).mean()
loss.backward()
print(encoder.grad, table.grad)
