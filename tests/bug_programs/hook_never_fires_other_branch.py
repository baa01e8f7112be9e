# kind: hook-never-fires; symptom: the list stays empty; names: attention
import torch

torch.manual_seed(0)
seen = []
x = torch.randn(4, 3)
w = torch.randn(3, 3, requires_grad=True)


def forward(batch):
    scores = batch @ w
    attention = torch.softmax(scores, 1)
    attention.register_hook(seen.append)  #< cause
    return attention @ batch.t()  #! return torch.sigmoid(scores) @ batch.t()


for step in range(2):
    loss = forward(x).sum()
    loss.backward()
    w.grad = None
