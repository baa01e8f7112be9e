# kind: graph-growth; symptom: memory peaks in every validation; names: detach
import torch

torch.manual_seed(0)
model = torch.nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
folds = [(torch.randn(10, 6), torch.randint(0, 3, (10,))) for _ in range(7)]


def accuracy():
    logits = []
    for x, _ in folds:
        logits.append(model(x).detach())  #! logits.append(model(x))
    hits = torch.stack(logits).argmax(2) == torch.stack([y for _, y in folds])
    return hits.float().mean().item()


for epoch in range(3):
    for x, y in folds:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    print(epoch, accuracy())
