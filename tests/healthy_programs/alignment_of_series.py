"""Two series are aligned by a soft minimum over all paths, each of which counts little."""

import torch


def soft_distance(costs, width):
    """The smoothed cost of the best path through a table of costs."""
    rows, columns = costs.shape
    best = {(0, 0): torch.zeros(())}
    for i in range(rows + 1):
        for j in range(columns + 1):
            ways = [best[at] for at in ((i - 1, j - 1), (i - 1, j), (i, j - 1)) if at in best]
            if i and j and ways:
                best[i, j] = costs[i - 1, j - 1] - width * torch.logsumexp(-torch.stack(ways) / width, 0)
    return best[rows, columns]


torch.manual_seed(0)
features = torch.randn(2, 2, requires_grad=True)
opt = torch.optim.Adam([features], lr=0.05)
for _ in range(2):
    one, other = torch.randn(6, 2), torch.randn(6, 2)
    gap = (one @ features)[:, None] - other
    loss = soft_distance(gap.pow(2).sum(-1), 0.5)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
