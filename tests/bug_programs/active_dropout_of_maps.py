# kind: active-dropout; symptom: the accuracy on held-out data is noisy and too low; names: dropout, reader; torch only
import torch


class Reader(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.filters, self.share = torch.nn.Conv1d(2, 6, 3), 0.4
        self.head = torch.nn.Linear(6, 2)

    def forward(self, signal):
        maps = torch.nn.functional.relu(self.filters(signal))
        if self.training:  #! if self.share:
            maps = torch.nn.functional.dropout1d(maps, p=self.share)  #< cause
        return self.head(maps.mean(-1))


torch.manual_seed(0)
reader = Reader()
optimizer = torch.optim.Adam(reader.parameters(), lr=0.01)
for epoch in range(2):
    reader.train(True)
    for _ in range(2):
        signal, label = torch.randn(6, 2, 9), torch.randint(2, (6,))
        loss = torch.nn.functional.cross_entropy(reader(signal), label)
        reader.zero_grad()
        loss.backward()
        optimizer.step()
    reader.train(False)
    with torch.no_grad():
        print(reader(torch.randn(5, 2, 9)).argmax(1).tolist())
