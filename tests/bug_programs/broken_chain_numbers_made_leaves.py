# kind: broken-chain; symptom: the ranking never changes; names: margins, weight, tolist
import torch

torch.manual_seed(0)
scorer = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adagrad(scorer.parameters(), lr=0.1)
for _ in range(4):
    better, worse = torch.randn(8, 4) + 1, torch.randn(8, 4)
    margins = scorer(better) - scorer(worse)
    gaps = margins  #! gaps = torch.tensor(margins.tolist(), requires_grad=True)
    loss = torch.nn.functional.softplus(-gaps).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
