# kind: missing-zero-grad; symptom: the critic also learns to praise; names: critic_opt.step(), praise, regret
import torch

torch.manual_seed(0)
actor = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
critic = torch.nn.Linear(6, 1)
actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
for step in range(4):
    state = torch.randn(8, 4)
    praise = -critic(torch.cat([state, actor(state)], 1)).mean()
    praise.backward()  #< cause
    actor_opt.step()
    actor_opt.zero_grad()
    critic_opt.zero_grad()  #! pass
    regret = (critic(torch.cat([state, torch.randn(8, 2)], 1)) - state.sum(1, keepdim=True)).square().mean()
    regret.backward()
    critic_opt.step()
    critic_opt.zero_grad()
