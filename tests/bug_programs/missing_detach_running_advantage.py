# kind: missing-detach; symptom: the critic chases itself; names: worth[step + 1], detach
import torch

torch.manual_seed(7)
critic = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
optimizer = torch.optim.RMSprop(critic.parameters(), lr=1e-3)
states, rewards = torch.randn(9, 5, 3), torch.randn(8, 5)
for update in range(3):
    worth = critic(states).squeeze(-1)
    running, gains = torch.zeros(5), []
    for step in reversed(range(8)):
        surprise = rewards[step] + 0.97 * worth[step + 1].detach() - worth[step]  #! surprise = rewards[step] + 0.97 * worth[step + 1] - worth[step]
        running = surprise + 0.9 * running
        gains.append(running)
    loss = torch.stack(gains).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
