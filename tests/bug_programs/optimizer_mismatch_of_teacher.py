# kind: optimizer-mismatch; symptom: the student never changes; names: 0.weight, model.parameters()
import torch
import copy

torch.manual_seed(0)
student = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
teacher = copy.deepcopy(student)
opt = torch.optim.SGD(student.parameters(), lr=0.1)  #! opt = torch.optim.SGD(teacher.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(6, 4)
    with torch.no_grad():
        wanted = torch.softmax(teacher(x) / 2.0, -1)
    opt.zero_grad()
    loss = -(wanted * torch.log_softmax(student(x) / 2.0, -1)).sum(-1).mean()
    loss.backward()
    opt.step()
