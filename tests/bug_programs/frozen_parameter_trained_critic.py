# kind: frozen-parameter; symptom: does not require grad and does not have a grad_fn; names: critic_loss, switched off
import torch

torch.manual_seed(0)
actor, critic = torch.nn.Linear(3, 1), torch.nn.Linear(4, 1)
frozen = []  #! frozen = list(critic.parameters())
for p in frozen:
    p.requires_grad = False  #< cause
actor_opt = torch.optim.SGD(actor.parameters(), lr=0.1)
critic_opt = torch.optim.SGD(critic.parameters(), lr=0.1)
for _ in range(2):
    s, a, r, s2 = torch.randn(6, 3), torch.randn(6, 1), torch.randn(6, 1), torch.randn(6, 3)
    with torch.no_grad():
        goal = r + 0.9 * torch.tanh(actor(s2))
    critic_loss = (critic(torch.cat([s, a], 1)) - goal).pow(2).mean()
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()
    actor_loss = -critic(torch.cat([s, actor(s)], 1)).mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()
