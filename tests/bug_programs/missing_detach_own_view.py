# kind: missing-detach; symptom: the two views agree on nothing; names: teacher
import torch

torch.manual_seed(0)
w = (torch.randn(8, 4) * 0.4).requires_grad_()
optimizer = torch.optim.SGD([w], lr=0.1)


def cross(p, q):
    return -(p * torch.log_softmax(q, 1)).sum(1).mean()


for step in range(3):
    x = torch.randn(16, 8)
    teacher = torch.softmax(x @ w / 0.3, 1).detach()  #! teacher = torch.softmax(x @ w / 0.3, 1)
    student = (x + 0.2 * torch.randn(16, 8)) @ w
    loss = cross(teacher, student)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
