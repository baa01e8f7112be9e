# kind: missing-detach; symptom: critics agree and diverge; names: y, detach; torch only
import torch
from torch import nn

torch.manual_seed(0)
first, second = nn.Linear(3, 1), nn.Linear(3, 1)
opt = torch.optim.Adam([*first.parameters(), *second.parameters()], 1e-2)
for step in range(3):
    s, following, r = torch.randn(8, 3), torch.randn(8, 3), torch.randn(8, 1)
    smaller = torch.min(first(following), second(following))
    y = (r + 0.9 * smaller).detach()  #! y = r + 0.9 * smaller
    loss = nn.functional.mse_loss(first(s), y) + nn.functional.mse_loss(second(s), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
