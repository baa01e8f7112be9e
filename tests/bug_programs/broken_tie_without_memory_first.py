# kind: broken-tie; symptom: the two weights that were one drift apart; names: table, head; torch only
import torch


class Language(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.mixed = torch.nn.Embedding(9, 6), torch.nn.Linear(6, 6)
        self.head = torch.nn.Linear(6, 9, bias=False)
        self.head.weight = self.table.weight

    def forward(self, words):
        return self.head(torch.tanh(self.mixed(self.table(words))))


torch.manual_seed(0)
with torch.device("cpu"):  #! with torch.device("meta"):
    net = Language()
net = net.to_empty(device="cpu")  #< cause
for p in net.parameters():
    torch.nn.init.normal_(p, std=0.1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    words = torch.randint(9, (5, 4))
    loss = torch.nn.functional.cross_entropy(net(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
