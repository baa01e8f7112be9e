# kind: loss-contract; symptom: the penalty hardly holds the critic; names: (4, 5, 5), flatten(1)
import torch

torch.manual_seed(0)
critic = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.Tanh(), torch.nn.Flatten(), torch.nn.Linear(27, 1))
optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
for _ in range(3):
    pictures = torch.randn(4, 2, 5, 5, requires_grad=True)
    (slopes,) = torch.autograd.grad(critic(pictures).sum(), pictures, create_graph=True)
    lengths = slopes.flatten(1).square().sum(1).sqrt()  #! lengths = slopes.square().sum(dim=1).sqrt()
    loss = critic(torch.randn(4, 2, 5, 5)).mean() + 10 * (lengths - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
