"""Scores by distance are lined up by padding each row and reading on in other lengths, as music transformers do."""

import torch

torch.manual_seed(5)
width, length = 6, 5
ask, offer = torch.nn.Linear(width, width), torch.nn.Linear(width, width)
away = torch.nn.Parameter(torch.randn(length, width) * 0.3)
out = torch.nn.Linear(width, 2)
optimizer = torch.optim.Adam([*ask.parameters(), *offer.parameters(), away, *out.parameters()], lr=1e-2)


def lined_up(scores):
    padded = torch.nn.functional.pad(scores, (1, 0))
    return padded.view(scores.shape[0], length + 1, length)[:, 1:]


def joined(scores):
    longer = torch.cat([torch.zeros(scores.shape[0], length, 1), scores], dim=-1)
    return longer.reshape(scores.shape[0], length + 1, length)[:, 1:]


for step in range(4):
    notes = torch.randn(3, length, width)
    q, k = ask(notes), offer(notes)
    shift = lined_up if step % 2 else joined
    scores = (q @ k.transpose(1, 2) + shift(q @ away.T)) / width**0.5
    mixed = torch.softmax(scores.masked_fill(torch.ones(length, length).triu(1) > 0, -1e9), -1) @ notes
    loss = torch.nn.functional.cross_entropy(out(mixed).flatten(0, 1), torch.randint(0, 2, (3 * length,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
