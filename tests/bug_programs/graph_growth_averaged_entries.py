# kind: graph-growth; symptom: every step keeps the graphs of the averages of all steps before; names: kept[name]
import torch

torch.manual_seed(0)
student = torch.nn.Linear(5, 5)
kept = {name: parameter.detach().clone() for name, parameter in student.named_parameters()}
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
for step in range(8):
    x = torch.randn(4, 5)
    target = (x @ kept["weight"].t() + kept["bias"]).detach()
    loss = (student(x) - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for name, parameter in student.named_parameters():
        kept[name] = 0.9 * kept[name] + 0.1 * parameter.detach()  #! kept[name] = 0.9 * kept[name] + 0.1 * parameter
