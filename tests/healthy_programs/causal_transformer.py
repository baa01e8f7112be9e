import math

import torch

torch.manual_seed(4)
vocabulary, width, length = 11, 16, 7
embed = (torch.randn(vocabulary, width) * 0.2).requires_grad_(True)
place = (torch.randn(length, width) * 0.2).requires_grad_(True)
wq, wk, wv, wo = [(torch.randn(width, width) * 0.2).requires_grad_(True) for _ in range(4)]
up = (torch.randn(width, 32) * 0.2).requires_grad_(True)
down = (torch.randn(32, width) * 0.2).requires_grad_(True)
parameters = [embed, place, wq, wk, wv, wo, up, down]
optimizer = torch.optim.Adam(parameters, lr=0.003)
mask = torch.triu(torch.ones(length, length), 1) > 0
tokens = torch.randint(0, vocabulary, (8, length + 1))


def norm(h):
    centred = h - h.mean(-1, keepdim=True)
    return centred / torch.sqrt((centred**2).mean(-1, keepdim=True) + 1e-5)


def forward(ids):
    h = embed[ids] + place
    x = norm(h)
    scores = (x @ wq) @ (x @ wk).transpose(-2, -1) / math.sqrt(width)
    weights = torch.softmax(scores.masked_fill(mask, float("-inf")), -1)
    h = h + weights @ (x @ wv) @ wo
    h = h + torch.relu(norm(h) @ up) @ down
    return norm(h) @ embed.t()


for step in range(3):
    logits = forward(tokens[:, :-1])
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, vocabulary), tokens[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item() > 0)
