# kind: inplace-modified; symptom: backward says that a tensor was modified; names: memory, einsum; torch only
import torch

torch.manual_seed(0)
w = torch.randn(4, 4, requires_grad=True)
x = torch.randn(2, 3, 4)
memory = torch.zeros(2, 3, 4)
scores = []
for t in range(3):
    key = x[:, t] @ w
    memory = torch.cat([memory[:, :t], key[:, None], memory[:, t + 1 :]], 1)  #! memory[:, t] = key
    scores.append(torch.einsum("bd,btd->bt", key, memory).tanh())
loss = torch.stack(scores).pow(2).mean()
loss.backward()
