# kind: broken-chain; symptom: the slopes of the critic are not held back; names: slope, detach
import torch

torch.manual_seed(0)
critic = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Softplus(), torch.nn.Linear(8, 1))
optimizer = torch.optim.RMSprop(critic.parameters(), lr=0.01)
for _ in range(4):
    points = torch.randn(10, 2).requires_grad_()
    scores = critic(points)
    (slope,) = torch.autograd.grad(scores.sum(), points, create_graph=True)
    steep = slope.norm(dim=1)  #! steep = slope.detach().norm(dim=1)
    loss = scores.mean() + 5 * (steep - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
