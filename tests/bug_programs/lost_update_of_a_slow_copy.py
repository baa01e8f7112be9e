# kind: lost-update; symptom: the teacher never changes; names: teacher, calm, never change; torch only
import torch
from torch import nn

torch.manual_seed(0)
pupil, teacher = nn.Linear(4, 2), nn.Linear(4, 2)
teacher.load_state_dict(pupil.state_dict())
teacher.requires_grad_(False)
optimizer = torch.optim.SGD(pupil.parameters(), lr=0.1)
for _ in range(4):
    seen = torch.randn(8, 4)
    loss = (pupil(seen) - teacher(seen.roll(1, 0))).square().mean() + pupil(seen).sin().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for calm, quick in zip(teacher.parameters(), pupil.parameters(), strict=True):
        calm.lerp_(quick.data, 0.05)  #! calm = torch.lerp(calm, quick.data, 0.05)
