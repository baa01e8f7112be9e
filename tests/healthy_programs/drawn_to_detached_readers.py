import functools

import torch

# What reads detached features may draw the rest to it on purpose: a learned prior, codes of a book, heads that agree.
torch.manual_seed(0)
functional, nn = torch.nn.functional, torch.nn
context, posterior, prior, decoder = nn.Linear(3, 5), nn.Linear(9, 4), nn.Linear(5, 4), nn.Linear(4, 4)
optimizer = torch.optim.Adam([p for net in (context, posterior, prior, decoder) for p in net.parameters()], lr=1e-2)
for _ in range(2):
    given, x = torch.randn(10, 3), torch.randn(10, 4)
    h = torch.tanh(context(given))
    scores = posterior(torch.cat([h, x], 1))
    drawn = functional.gumbel_softmax(scores, tau=1.0)
    far = functional.kl_div(
        functional.log_softmax(prior(h.detach()), 1), functional.softmax(scores, 1), reduction="batchmean"
    )
    optimizer.zero_grad()
    (functional.mse_loss(decoder(drawn), x) + far).backward()
    optimizer.step()

encoder, painter, book = nn.Linear(6, 4), nn.Linear(4, 6), nn.Embedding(5, 4)
optimizer = torch.optim.Adam([p for net in (encoder, painter, book) for p in net.parameters()], lr=1e-2)
for _ in range(2):
    x = torch.randn(10, 6)
    z = encoder(x)
    code = book(torch.cdist(z.detach(), book.weight.detach()).argmin(1))
    optimizer.zero_grad()
    (functional.mse_loss(painter(z + (code - z).detach()), x) + functional.mse_loss(code, z)).backward()
    optimizer.step()

trunk, one, other = nn.Linear(5, 6), nn.Linear(6, 3), nn.Linear(6, 3)
optimizer = torch.optim.Adam([p for net in (trunk, one, other) for p in net.parameters()], lr=1e-2)
for _ in range(2):
    x = torch.randn(10, 5)
    label, h = (x[:, 0] > 0).long(), torch.relu(trunk(x))
    pair = one(h), other(h.detach())
    logs, shares = [functional.log_softmax(s, 1) for s in pair], [functional.softmax(s, 1) for s in pair]
    divergence = functools.partial(functional.kl_div, reduction="batchmean")
    agree = divergence(logs[0], shares[1]) + divergence(logs[1], shares[0])
    optimizer.zero_grad()
    (sum(functional.cross_entropy(s, label) for s in pair) + agree).backward()
    optimizer.step()
print(bool(torch.isfinite(agree)), bool(torch.isfinite(far)))
