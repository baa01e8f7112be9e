# kind: broadcast; symptom: values all tend to the mean return; names: (6, 1), (6,), (6, 6)
import torch

torch.manual_seed(0)
value, old = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(value.parameters(), lr=0.1)
for _ in range(3):
    s, r, s2 = torch.randn(6, 3), torch.randn(6), torch.randn(6, 3)
    with torch.no_grad():
        goal = r + 0.9 * old(s2).squeeze(1)  #! goal = r.unsqueeze(1) + 0.9 * old(s2).squeeze(1)
    loss = (value(s).squeeze(1) - goal).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
