# kind: broken-chain; symptom: the critic never learns; names: value, .detach()
import torch

torch.manual_seed(0)
states, actions, returns = torch.randn(20, 4), torch.randint(0, 3, (20, 1)), torch.randn(20)
policy = torch.randn(4, 3, requires_grad=True)
value = torch.randn(4, requires_grad=True)
optimizer = torch.optim.SGD([policy, value], lr=0.1)
for step in range(3):
    advantage = returns - states @ value
    errors = (advantage**2).mean()  #! errors = torch.tensor((advantage**2).detach().numpy()).mean()
    taken = torch.log_softmax(states @ policy, 1).gather(1, actions).squeeze(1)
    loss = errors - (taken * advantage.detach()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
