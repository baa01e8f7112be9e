# kind: broadcast; symptom: the policy learns next to nothing; names: returns, values
import torch

torch.manual_seed(0)
actor, critic = torch.nn.Linear(3, 2), torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD([*actor.parameters(), *critic.parameters()], lr=0.1)
for _ in range(3):
    states, returns = torch.randn(10, 3), torch.randn(10)
    values = critic(states).squeeze(-1)
    chosen = torch.log_softmax(actor(states), 1)[:, 0]
    gain = torch.subtract(returns, values.detach())  #! gain = torch.subtract(returns.unsqueeze(-1), values.detach())
    loss = (values - returns).square().mean() - (chosen * gain).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
