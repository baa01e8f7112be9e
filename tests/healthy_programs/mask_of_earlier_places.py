import torch

torch.manual_seed(0)
emb = torch.nn.Embedding(9, 6)
out = torch.nn.Linear(6, 9)
opt = torch.optim.Adam([*emb.parameters(), *out.parameters()], 1e-2)
length = 5
for _ in range(3):
    ids = torch.randint(0, 9, (4, length))
    pos = torch.arange(length)
    earlier = pos.view(-1, 1)
    mask = earlier < pos
    h = emb(ids)
    s = (h @ h.transpose(1, 2)).masked_fill(mask, float("-inf")).softmax(-1) @ h
    loss = torch.nn.functional.cross_entropy(out(s).flatten(0, 1), ids.roll(1, 1).flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
