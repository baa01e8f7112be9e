# kind: missing-detach; symptom: values of early states pull those of late ones down; names: bound
import torch

torch.manual_seed(0)
states, gained, ahead = torch.randn(24, 4), torch.randn(22), 2
critic = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam(critic.parameters(), lr=0.02)
for _ in range(3):
    worth = critic(states).squeeze(-1)
    bound = gained + 0.81 * worth[ahead:].detach()  #! bound = gained + 0.81 * worth.narrow(0, ahead, 22)
    loss = torch.nn.functional.smooth_l1_loss(worth[:-ahead], bound)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
