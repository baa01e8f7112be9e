# kind: missing-create-graph; symptom: the penalty has no effect; names: slopes, create_graph=True
import torch

torch.manual_seed(0)
critic = torch.nn.Sequential(torch.nn.Linear(2, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))
opt = torch.optim.SGD(critic.parameters(), lr=0.1)
for _ in range(2):
    x = torch.randn(5, 2, requires_grad=True)
    score = critic(x)
    slopes = torch.autograd.grad(score.sum(), x, create_graph=True)[0]  #! slopes = torch.autograd.grad(score.sum(), x, retain_graph=True)[0]
    opt.zero_grad()
    (score.mean() + ((slopes.norm(dim=1) - 1) ** 2).mean()).backward()
    opt.step()
