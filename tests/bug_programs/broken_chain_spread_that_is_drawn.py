# kind: broken-chain; symptom: only the width is learned, by its entropy; names: sample(), rsample
import torch

torch.manual_seed(0)
aim = torch.nn.Linear(2, 6)
cost = torch.nn.Linear(3, 1).requires_grad_(False)
optimizer = torch.optim.SGD(aim.parameters(), lr=0.1)
for _ in range(3):
    middle, width = aim(torch.randn(5, 2)).chunk(2, 1)
    spread = torch.distributions.Normal(middle, width.exp())
    point = spread.rsample()  #! point = spread.sample()  #< cause
    optimizer.zero_grad()
    (cost(point).mean() - 0.1 * spread.entropy().mean()).backward()
    optimizer.step()
