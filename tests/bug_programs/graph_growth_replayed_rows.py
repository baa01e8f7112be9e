# kind: graph-growth; symptom: memory grows with the buffer of transitions; names: keep prob.detach()
import torch

torch.manual_seed(0)
policy = torch.nn.Linear(3, 2)
opt = torch.optim.SGD(policy.parameters(), lr=0.1)
replay = []
for _ in range(8):
    state = torch.randn(5, 3)
    prob = torch.softmax(policy(state), -1)
    replay.append((state, prob.detach()))  #! replay.append((state, prob))
    opt.zero_grad()
    (prob * torch.tensor([1.0, -1.0])).sum(-1).mean().backward()
    opt.step()
