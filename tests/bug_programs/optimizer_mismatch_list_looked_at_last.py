# kind: optimizer-mismatch; symptom: the tables of the columns never move; names: ModuleList, no module registers
import torch


class Columns:
    def __init__(self, sizes):
        self.of = [torch.nn.Embedding(size, 4) for size in sizes]

    def __call__(self, rows):
        return torch.cat([table(rows[:, place]) for place, table in enumerate(self.of)], 1)


class Score(torch.nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.columns = Columns(sizes)  #< cause
        self.extra = torch.nn.ModuleList(self.columns.of)  #! pass
        self.out = torch.nn.Linear(4 * len(sizes), 1)

    def forward(self, rows):
        return self.out(self.columns(rows)).squeeze(1)


torch.manual_seed(0)
score = Score([5, 7, 3])
begin = score.columns.of[1].weight.detach().clone()
optimizer = torch.optim.Adam(score.parameters(), lr=0.05)
for _ in range(4):
    rows = torch.stack([torch.randint(0, size, (16,)) for size in (5, 7, 3)], 1)
    loss = (score(rows) - rows.sum(1).float()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print((score.columns.of[1].weight - begin).abs().max().item())
