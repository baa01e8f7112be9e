# kind: broken-chain; symptom: the ratio is always one; names: policy, detach
import torch

torch.manual_seed(0)
states, actions = torch.randn(20, 4), torch.randint(0, 3, (20, 1))
advantage = torch.randn(20, 1)
policy = torch.randn(4, 3, requires_grad=True)
critic = torch.randn(4, 1, requires_grad=True)
optimizer = torch.optim.SGD([policy, critic], lr=0.1)


def logarithm():
    return torch.log_softmax(states @ policy, 1).gather(1, actions)


before = logarithm().detach()
for epoch in range(3):
    now = logarithm()  #! now = logarithm().detach()
    surrogate = ((now - before).exp() * advantage).mean()
    loss = (states @ critic - advantage).pow(2).mean() - surrogate
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
