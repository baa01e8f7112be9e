# kind: scaled-gradient; symptom: the first update throws the field far away; names: optimizer.step, scaler.step; torch only
import torch

torch.manual_seed(0)
field = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(field.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
for _ in range(3):
    points = torch.randn(6, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        distance = field(points).float()
    loss = torch.nn.functional.smooth_l1_loss(distance, points[:, :1])
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)  #! optimizer.step()
    scaler.update()  #! scaler.get_scale()
