import torch
from torch.nn.functional import logsigmoid

torch.manual_seed(0)
scorer = torch.nn.Sequential(torch.nn.Linear(5, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
opt = torch.optim.SGD(scorer.parameters(), lr=0.05)
beta = 0.5
for step in range(4):
    chosen, rejected = torch.randn(8, 5) + 0.5, torch.randn(8, 5)
    margins = torch.rand(8) + 0.1  # how much better each one was judged
    good, bad = scorer(chosen).squeeze(-1), scorer(rejected).squeeze(-1)
    hinge = torch.relu(margins + bad - good).mean()
    squared_hinge = (bad + margins - good).clamp(min=0).pow(2).mean()
    preference = -logsigmoid(beta * good - (beta * bad + margins)).mean()
    hardest = torch.maximum((margins + beta * bad - good).max(), torch.tensor(0.0))
    loss = hinge + squared_hinge + preference + hardest + 0.01 * (margins + bad - good).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("ranked", bool(loss.isfinite()))
