# kind: graph-growth; symptom: every step keeps the graphs of all steps before; names: smooth
import torch

torch.manual_seed(0)
w = torch.randn(4, 1, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.01)
smooth = 0.0


def note(value):
    global smooth
    smooth = 0.9 * smooth + 0.1 * value.item()  #! smooth = 0.9 * smooth + 0.1 * value


for step in range(6):
    loss = (torch.randn(8, 4) @ w).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    note(loss)
