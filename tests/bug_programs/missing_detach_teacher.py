# kind: missing-detach; symptom: the teacher gets gradients; names: wanted
import torch

torch.manual_seed(0)
x = torch.randn(8, 3)
teacher = torch.randn(3, 2, requires_grad=True)
student = torch.randn(3, 2, requires_grad=True)
optimizer = torch.optim.SGD([student], lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    wanted = torch.tanh(x @ teacher).detach()  #! wanted = torch.tanh(x @ teacher)
    got = torch.tanh(x @ student)
    loss = ((got - wanted) ** 2).mean()
    loss.backward()
    optimizer.step()
