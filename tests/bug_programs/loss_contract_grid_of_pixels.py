# kind: loss-contract; symptom: the offset does not find the picture; names: grid, -1 and 1; torch only
import torch

torch.manual_seed(0)
picture = torch.rand(1, 1, 16, 16)
offset = torch.zeros(2, requires_grad=True)
optimizer = torch.optim.SGD([offset], lr=0.1)
line = torch.linspace(-1.0, 1.0, 16)  #! line = torch.arange(16.0)
where = torch.stack(torch.meshgrid(line, line, indexing="xy"), dim=-1)
for _ in range(3):
    moved = torch.nn.functional.grid_sample(picture, (where + offset).unsqueeze(0), align_corners=True)  #< cause
    loss = (moved - picture.roll(1, 3)).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
