# kind: freed-graph; symptom: the second update of the critic ends in an error; names: fake, detach
import torch


class Generator(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)

    def forward(self, noise):
        return torch.tanh(self.layer(noise))


class Critic(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

    def forward(self, x):
        return self.layer(x).sigmoid()


torch.manual_seed(0)
generator, critic = Generator(), Critic()
opt = torch.optim.SGD(critic.parameters(), lr=0.1)
for _ in range(2):
    fake = generator(torch.randn(4, 3)).detach()  #! fake = generator(torch.randn(4, 3))
    for _ in range(2):
        loss = critic(fake).mean() - critic(torch.randn(4, 2)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
