import torch

torch.manual_seed(3)
generator = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.LeakyReLU(0.2), torch.nn.Linear(8, 2))
critic = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Softplus(), torch.nn.Linear(8, 1))
averaged = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.LeakyReLU(0.2), torch.nn.Linear(8, 2))
averaged.load_state_dict(generator.state_dict())
g_opt = torch.optim.Adam(generator.parameters(), lr=1e-3)
c_opt = torch.optim.Adam(critic.parameters(), lr=1e-3)


def trainable(module, flag):
    for p in module.parameters():
        p.requires_grad = flag


for step in range(5):
    real = torch.randn(12, 2) * 0.3 + 1.0
    trainable(generator, False)
    trainable(critic, True)
    fake = generator(torch.randn(12, 3))
    c_loss = critic(fake).mean() - critic(real).mean()
    critic.zero_grad()
    c_loss.backward()
    c_opt.step()
    if step % 2 == 0:
        given = real.clone().requires_grad_(True)
        (slope,) = torch.autograd.grad(critic(given).sum(), given, create_graph=True)
        critic.zero_grad()
        (slope**2).sum(1).mean().backward()
        c_opt.step()
    trainable(generator, True)
    trainable(critic, False)
    g_loss = -critic(generator(torch.randn(12, 3))).mean()
    generator.zero_grad()
    g_loss.backward()
    g_opt.step()
    with torch.no_grad():
        for slow, p in zip(averaged.parameters(), generator.parameters(), strict=True):
            slow.mul_(0.9).add_(p, alpha=0.1)
print("losses", c_loss.item() == c_loss.item(), g_loss.item() == g_loss.item())
