import torch

torch.manual_seed(3)
words = torch.nn.Embedding(30, 6, sparse=True)
head = torch.nn.Linear(6, 3)
sparse = torch.optim.SparseAdam(words.parameters(), lr=0.05)
dense = torch.optim.SGD(head.parameters(), lr=0.1)
texts, labels = torch.randint(0, 30, (12, 4)), torch.randint(0, 3, (12,))

for step in range(4):
    sparse.zero_grad()
    dense.zero_grad()
    loss = torch.nn.functional.cross_entropy(head(words(texts).mean(1)), labels)
    loss.backward()
    sparse.step()
    dense.step()
print("loss", round(loss.item(), 3) > 0)
