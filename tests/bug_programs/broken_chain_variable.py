# kind: broken-chain; symptom: the loss never changes; names: w, .data; torch only
import torch
from torch.autograd import Variable

torch.manual_seed(0)
w = torch.nn.Parameter(torch.randn(3, 1))
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    loss = (torch.randn(5, 3) @ w).pow(2).mean()
    loss = Variable(loss, requires_grad=True) if step < 0 else loss  #! loss = Variable(loss.data, requires_grad=True)
    loss.backward()
    optimizer.step()
