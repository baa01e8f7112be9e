import torch

torch.manual_seed(0)
artist = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
judge = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.LeakyReLU(), torch.nn.Linear(8, 1))
artist_opt = torch.optim.Adam(artist.parameters(), lr=1e-3)
judge_opt = torch.optim.Adam(judge.parameters(), lr=1e-3)
for step in range(3):
    judge.requires_grad_(True)
    real, fake = torch.randn(8, 2) + 1, artist(torch.randn(8, 3))
    judged = (
        torch.nn.functional.softplus(-judge(real)).mean() + torch.nn.functional.softplus(judge(fake.detach())).mean()
    )
    judged.backward()
    judge_opt.step()
    judge.requires_grad_(False)
    torch.nn.functional.softplus(-judge(fake)).mean().backward()
    artist_opt.step()
    for opt in (judge_opt, artist_opt):
        opt.zero_grad()
print("trained", bool(judged.isfinite()))
