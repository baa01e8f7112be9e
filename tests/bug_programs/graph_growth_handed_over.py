# kind: graph-growth; symptom: memory grows with every episode; names: chances, detach
import torch

torch.manual_seed(5)
policy = torch.randn(4, 2, requires_grad=True)
memory = []


def act(state):
    return torch.softmax(torch.tanh(state @ policy), 0)


def remember(state, chances, reward):
    memory.append((state, chances, reward))


for episode in range(8):
    state = torch.randn(4)
    chances = act(state)
    remember(state, chances.detach(), 1.0)  #! remember(state, chances, 1.0)
    loss = -torch.log(chances[0])
    loss.backward()
    with torch.no_grad():
        policy -= 0.01 * policy.grad
    policy.grad = None
print("remembered:", len(memory))
