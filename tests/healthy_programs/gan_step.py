import torch

torch.manual_seed(2)
generator = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
critic = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
g_optimizer = torch.optim.Adam(generator.parameters(), lr=0.01)
c_optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)


def binary(logits, wish):
    return torch.nn.functional.binary_cross_entropy_with_logits(logits, torch.ones(32, 1) * wish)


for step in range(3):
    real = torch.randn(32, 2) * 0.5 + 1.0
    fake = generator(torch.randn(32, 4))
    c_optimizer.zero_grad()
    c_loss = binary(critic(real), 1.0) + binary(critic(fake.detach()), 0.0)
    c_loss.backward()
    c_optimizer.step()
    g_optimizer.zero_grad()
    g_loss = binary(critic(fake), 1.0)
    g_loss.backward()
    g_optimizer.step()
print(c_loss.item() > 0, g_loss.item() > 0)
