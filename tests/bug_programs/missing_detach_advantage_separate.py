# kind: missing-detach; symptom: the critic learns to please the actor; names: advantage, detach
import torch

torch.manual_seed(0)
mean, critic = torch.randn(4, 2, requires_grad=True), torch.randn(4, 1, requires_grad=True)
spread = torch.zeros(2, requires_grad=True)
opts = [torch.optim.SGD([mean, spread], lr=0.01), torch.optim.SGD([critic], lr=0.01)]
for episode in range(3):
    obs, returns = torch.randn(10, 4), torch.randn(10)
    values = (obs @ critic).squeeze(1)
    chosen = torch.distributions.Normal(obs @ mean, spread.exp())
    logp = chosen.log_prob(chosen.sample()).sum(1)
    advantage = returns - values
    actor_loss = -(advantage.detach() * logp).mean()  #! actor_loss = -(advantage * logp).mean()
    critic_loss = torch.nn.functional.smooth_l1_loss(values, returns)
    for opt in opts:
        opt.zero_grad()
    (actor_loss + critic_loss).backward()
    for opt in opts:
        opt.step()
