# kind: broken-tie; symptom: tied weights drift apart; names: out.weight, table
import torch

torch.manual_seed(0)


class Words(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(7, 4))
        self.out = torch.nn.Linear(4, 7, bias=False)
        self.out.weight = self.table  #! self.out.weight = torch.nn.Parameter(self.table.clone())

    def forward(self, words):
        return self.out(self.table[words])


model = Words()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
words = torch.arange(7)
loss = model(words).pow(2).mean()
loss.backward()
optimizer.step()
