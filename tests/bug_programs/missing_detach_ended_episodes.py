# kind: missing-detach; symptom: values chase each other; names: target
import torch

torch.manual_seed(0)
critic = torch.nn.Sequential(torch.nn.Linear(4, 12), torch.nn.Tanh(), torch.nn.Linear(12, 1))
opt = torch.optim.Adam(critic.parameters(), lr=1e-2)
for step in range(3):
    state, following = torch.randn(8, 4), torch.randn(8, 4)
    reward, over = torch.randn(8), torch.rand(8) < 0.2
    later = critic(following).squeeze(1)
    kept = torch.where(over, reward, reward + 0.9 * later)
    target = kept.unsqueeze(1).detach()  #! target = kept.unsqueeze(1)
    loss = torch.nn.functional.mse_loss(critic(state), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
