# kind: dead-relu; symptom: the loss stops far from zero; names: no weights reach that, leave relu out
import torch

torch.manual_seed(0)
depth = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(depth.parameters(), lr=0.1)
for _ in range(6):
    soundings = torch.rand(9, 3)
    optimizer.zero_grad()
    level = depth(soundings)
    out = level  #! out = torch.relu(level)  #< cause
    (out - (-4.0 - soundings[:, :1])).square().mean().backward()
    optimizer.step()
