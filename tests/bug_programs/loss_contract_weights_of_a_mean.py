# kind: loss-contract; symptom: old readings count as much as new ones; names: age, none
import torch

torch.manual_seed(0)
curve = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(curve.parameters(), lr=0.05)
age = torch.linspace(1.0, 0.1, 6).unsqueeze(1)
for _ in range(3):
    readings = torch.randn(6, 2)
    wanted = readings.sum(1, keepdim=True)
    apart = torch.nn.functional.smooth_l1_loss(curve(readings), wanted, reduction="none")  #! apart = torch.nn.functional.smooth_l1_loss(curve(readings), wanted)  #< cause
    optimizer.zero_grad()
    torch.mul(age, apart).sum().div(age.sum()).backward()
    optimizer.step()
