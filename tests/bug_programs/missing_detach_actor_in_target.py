# kind: missing-detach; symptom: values creep up and the actor learns from the critic's error; names: detach
import torch

nn = torch.nn
torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
actor = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1), nn.Tanh())
critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)


def value(state, action):
    return critic(torch.cat([state, action], 1))


def wanted(reward, state):
    following = value(state, actor(state))
    return reward + 0.99 * following.detach()  #! return reward + 0.99 * following


for step in range(3):
    state, after = torch.randn(8, 3), torch.randn(8, 3)
    action, reward = torch.rand(8, 1), torch.randn(8, 1)
    error = (value(state, action) - wanted(reward, after)).pow(2).mean()
    critic_opt.zero_grad()
    error.backward()
    critic_opt.step()
    gain = -value(state, actor(state)).mean()
    actor_opt.zero_grad()
    gain.backward()
    actor_opt.step()
