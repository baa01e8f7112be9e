import torch

torch.manual_seed(0)
tower = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Linear(12, 1))
opt = torch.optim.Adam(tower.parameters(), lr=1e-2)
slack = torch.tensor(0.05)
for epoch in range(5):
    margin = 0.2 + 0.1 * epoch
    for liked, passed in zip(torch.randn(3, 6) + 0.5, torch.randn(3, 6), strict=True):
        good, bad = tower(liked)[0], tower(passed)[0]
        loss = torch.relu(margin + bad - good) + 0.1 * torch.relu(slack + bad - good)
        opt.zero_grad()
        loss.backward()
        opt.step()
with torch.no_grad():
    print("ranked", bool((tower(torch.ones(1, 6)) - tower(-torch.ones(1, 6))).isfinite().all()))
