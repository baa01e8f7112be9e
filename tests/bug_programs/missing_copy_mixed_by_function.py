# kind: missing-copy; symptom: returns go up and down; names: slow, fast, weight
import copy

import torch


def follow(slow, fast, tau):
    for p, q in zip(slow.parameters(), fast.parameters()):
        p.data.copy_(tau * q.data + (1 - tau) * p.data)  #< cause


torch.manual_seed(0)
critic = torch.nn.Linear(3, 1)
nets = {"critic": critic, "slow": copy.deepcopy(critic)}  #! nets = {"critic": critic, "slow": critic}
opt = torch.optim.SGD(critic.parameters(), lr=0.05)
for step in range(5):
    seen, then, gain = torch.randn(6, 3), torch.randn(6, 3), torch.randn(6, 1)
    goal = gain + 0.95 * nets["slow"](then).detach()
    loss = torch.nn.functional.mse_loss(critic(seen), goal)
    opt.zero_grad()
    loss.backward()
    opt.step()
    follow(nets["slow"], critic, 0.05)
