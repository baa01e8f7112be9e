# kind: freed-graph; symptom: the generator's step raises; names: fake, fake.detach(), retain_graph
import torch

torch.manual_seed(0)
net, critic = (torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh(), torch.nn.Linear(3, 3)) for _ in range(2))
train_net = torch.optim.SGD(net.parameters(), lr=0.1)
train_critic = torch.optim.SGD(critic.parameters(), lr=0.1)


def judge(fake, real):
    loss = critic(fake.detach()).mean() - critic(real).mean()  #! loss = critic(fake).mean() - critic(real).mean()
    train_critic.zero_grad()
    loss.backward()  #< cause
    train_critic.step()


def improve(fake):
    loss = -critic(fake).mean()
    train_net.zero_grad()
    loss.backward()
    train_net.step()


for _ in range(2):
    fake = net(torch.randn(4, 3))
    judge(fake, torch.randn(4, 3))
    improve(fake)
