# kind: unused-parameter; symptom: the second head is never trained; names: weight, sex
import torch

torch.manual_seed(0)
trunk = torch.nn.Linear(6, 10)
heads = torch.nn.ModuleList([torch.nn.Linear(10, 1), torch.nn.Linear(10, 1)])
optimizer = torch.optim.SGD([*trunk.parameters(), *heads.parameters()], lr=0.1)
for step in range(3):
    x, years = torch.randn(12, 6), torch.rand(12, 1)
    code = torch.relu(trunk(x))
    age = torch.nn.functional.mse_loss(heads[0](code), years)
    sex = torch.nn.functional.softplus(heads[1](code)).mean()  #< cause
    loss = age + sex  #! loss = age
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(float(age.detach()), float(sex.detach()))
