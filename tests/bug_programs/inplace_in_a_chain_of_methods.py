# kind: inplace-modified; symptom: modified by an inplace operation; names: square_, scaled = (x @ w).relu_().square()
import torch

torch.manual_seed(0)
w = torch.randn(5, 5, requires_grad=True)
x = torch.randn(3, 5)
optimizer = torch.optim.SGD([w], lr=0.01)
for step in range(3):
    scaled = (x @ w).relu_().square()  #! scaled = (x @ w).relu_().square_()
    loss = scaled.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
