# kind: missing-zero-grad; symptom: the critic's steps grow and grow; names: weight.grad, critic_opt.zero_grad()
import torch

torch.manual_seed(0)
critic = torch.nn.Linear(3, 1)
critic_opt = torch.optim.SGD(critic.parameters(), lr=0.01)
for step in range(4):
    real, fake = torch.randn(8, 3) + 1, torch.randn(8, 3)
    critic_opt.zero_grad()  #! pass
    gap = critic(fake).mean() - critic(real).mean()
    gap.backward()  #< cause
    critic_opt.step()
    for p in critic.parameters():
        p.data.clamp_(-0.1, 0.1)
