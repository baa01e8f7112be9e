# kind: zero-gradient; symptom: the policy never gets better; names: policy, sub
import torch

torch.manual_seed(0)
policy = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)


def chances(state, action):
    return torch.log_softmax(policy(state), 1).gather(1, action).squeeze(1)


for _ in range(3):
    state, action, gain = torch.randn(9, 4), torch.randint(3, (9, 1)), torch.randn(9)
    with torch.no_grad():
        before = chances(state, action)
    for _ in range(2):
        again = before  #! again = chances(state, action)
        ratio = torch.exp(chances(state, action) - again)  #< cause
        loss = -torch.minimum(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
