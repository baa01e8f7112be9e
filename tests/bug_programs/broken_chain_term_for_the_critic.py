# kind: broken-chain; symptom: the critic's verdict has no effect on the policy; names: actor
import torch

torch.manual_seed(0)
actor, critic = torch.nn.Linear(3, 2), torch.nn.Linear(5, 1)
of_actor = torch.optim.SGD(actor.parameters(), lr=0.1)
of_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
for _ in range(4):
    state = torch.randn(8, 3)
    with torch.no_grad():
        tried = torch.tanh(actor(state))
    reward = (state[:, :2] * tried).sum(1, keepdim=True)
    missed = (critic(torch.cat([state, tried], 1)) - reward).square().mean()
    of_critic.zero_grad()
    missed.backward()
    of_critic.step()
    action = torch.tanh(actor(state))
    worth = critic(torch.cat([state, action], 1))  #! worth = critic(torch.cat([state, action.data], 1))
    objective = 0.01 * action.square().mean() - worth.mean()
    of_actor.zero_grad()
    objective.backward()
    of_actor.step()
