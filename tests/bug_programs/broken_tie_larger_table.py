# kind: broken-tie; symptom: new words are never predicted as they are read; names: read, written
import torch


class Tagger(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.read, self.written = torch.nn.Embedding(7, 5), torch.nn.Linear(5, 7, bias=False)
        self.written.weight = self.read.weight

    def grow(self, count):
        known = self.read.weight
        self.read = torch.nn.Embedding(len(known) + count, known.shape[1])
        with torch.no_grad():
            self.read.weight[: len(known)] = known  #< cause
        self.written.weight = self.read.weight  #! pass

    def forward(self, words):
        return self.written(torch.relu(self.read(words)))


torch.manual_seed(0)
tagger = Tagger()
tagger.grow(2)
optimizer = torch.optim.SGD(tagger.parameters(), lr=0.1)
for _ in range(3):
    words = torch.randint(7, (6,))
    loss = torch.nn.functional.cross_entropy(tagger(words), words.flip(0))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
