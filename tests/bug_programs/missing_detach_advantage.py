# kind: missing-detach; symptom: the values drift away from the returns; names: advantage, detach
import torch

torch.manual_seed(0)
actor, critic = torch.randn(4, 3, requires_grad=True), torch.randn(4, 1, requires_grad=True)
opt = torch.optim.Adam([actor, critic], lr=0.01)
for episode in range(3):
    obs, returns = torch.randn(10, 4), torch.randn(10)
    action = torch.randint(0, 3, (10, 1))
    logp = torch.log_softmax(obs @ actor, 1).gather(1, action).squeeze(1)
    advantage = returns - (obs @ critic).squeeze(1)
    policy = -(logp * advantage.detach()).mean()  #! policy = -(logp * advantage).mean()
    loss = policy + 0.5 * advantage.square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
