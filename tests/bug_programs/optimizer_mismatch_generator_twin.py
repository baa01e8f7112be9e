# kind: optimizer-mismatch; symptom: the generator never learns; names: optimizer, gen
import torch

torch.manual_seed(0)
gen = torch.nn.Sequential(torch.nn.Linear(2, 6), torch.nn.ReLU(), torch.nn.Linear(6, 2))
disc = torch.nn.Sequential(torch.nn.Linear(2, 6), torch.nn.ReLU(), torch.nn.Linear(6, 1))
g_opt = torch.optim.SGD(gen.parameters(), lr=0.1)  #! g_opt = torch.optim.SGD(disc.parameters(), lr=0.1)
d_opt = torch.optim.SGD(disc.parameters(), lr=0.1)
for step in range(3):
    real, noise = torch.randn(8, 2) + 1, torch.randn(8, 2)
    d_loss = disc(gen(noise).detach()).mean() - disc(real).mean()
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()
    g_loss = -disc(gen(noise)).mean()
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
