# kind: broadcast; symptom: padding counts although it is masked; names: mask, each
import torch

torch.manual_seed(0)
words = torch.tensor([3, 1, 4, 1, 0, 0])
x = torch.randn(6, 5)
w = torch.randn(5, 6, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)


def masked(each, ids):
    mask = (ids != 0).float().unsqueeze(1)
    kept = each * mask.squeeze(1)  #! kept = each * mask
    return kept.sum() / mask.sum()


for step in range(4):
    optimizer.zero_grad()
    each = torch.nn.functional.cross_entropy(x @ w, words, reduction="none")
    loss = masked(each, words)
    loss.backward()
    optimizer.step()
