# kind: missing-detach; symptom: values chase their own targets; names: target
import torch

torch.manual_seed(0)
value = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
optimizer = torch.optim.Adam(value.parameters(), lr=1e-3)
for step in range(2):
    state, following, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
    chosen = value(state)[:, 0]
    target = (reward + 0.9 * value(following).amax(1)).detach()  #! target = reward + 0.9 * value(following).amax(1)
    loss = (chosen - target).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
