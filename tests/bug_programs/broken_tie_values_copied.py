# kind: broken-tie; symptom: embedding and output layer drift apart; names: out.weight, emb.weight; torch only
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(9, 5)
        self.out = nn.Linear(5, 9, bias=False)
        self.out.weight = self.emb.weight  #! self.out.weight.data = self.emb.weight.data.clone()

    def forward(self, ids):
        return self.out(torch.tanh(self.emb(ids)))


torch.manual_seed(0)
model = Model()
opt = torch.optim.SGD(model.parameters(), 0.1)
for step in range(2):
    ids = torch.randint(0, 9, (6,))
    loss = nn.functional.cross_entropy(model(ids), ids.roll(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
