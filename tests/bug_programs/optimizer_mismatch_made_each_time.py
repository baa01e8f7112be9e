# kind: optimizer-mismatch; symptom: positions are never learned; names: positions, new parameters, 4 passes
import torch


class Reader(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(10, 6)
        self.out = torch.nn.Linear(6, 10)
        self.positions = torch.nn.Parameter(torch.randn(5, 6))

    def forward(self, ids):
        positions = self.positions  #! positions = torch.nn.Parameter(torch.randn(ids.shape[1], 6))
        return self.out(torch.tanh(self.words(ids) + positions))


torch.manual_seed(0)
reader = Reader()
optimizer = torch.optim.SGD(reader.parameters(), lr=0.1)  #! optimizer = torch.optim.SGD([*reader.words.parameters(), *reader.out.parameters()], lr=0.1)
for _ in range(4):
    ids = torch.randint(0, 10, (3, 5))
    loss = torch.nn.functional.cross_entropy(reader(ids).flatten(0, 1), ids.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
