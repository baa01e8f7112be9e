import torch

# Two views are drawn together on both sides, and a term for their spread keeps them from becoming one constant.
torch.manual_seed(14)
encoder = torch.nn.Linear(6, 4)
predictor = torch.nn.Linear(4, 4)
opt = torch.optim.SGD([*encoder.parameters(), *predictor.parameters()], lr=0.05)
for step in range(3):
    x = torch.randn(16, 6)
    a = torch.tanh(encoder(x + 0.1 * torch.randn_like(x)))
    b = torch.tanh(encoder(x + 0.1 * torch.randn_like(x)))
    alike = torch.nn.functional.cosine_similarity(predictor(a), b, dim=1).mean()
    spread = torch.relu(1 - (a.var(0) + 1e-4).sqrt()).mean() + torch.relu(1 - (b.var(0) + 1e-4).sqrt()).mean()
    opt.zero_grad()
    (spread - alike).backward()
    opt.step()
print("alike", float(alike.detach()) < 1)
