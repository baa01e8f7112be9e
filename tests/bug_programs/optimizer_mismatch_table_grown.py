# kind: optimizer-mismatch; symptom: no word learns anything after new words were added; names: words.table.weight, add_param_group
import torch


class Words:
    def __init__(self, count):
        self.table = torch.nn.Embedding(count, 4)
        self.opt = torch.optim.SGD(self.table.parameters(), lr=0.1)

    def grow(self, more):
        old = self.table.weight.detach()
        self.table.weight = torch.nn.Parameter(torch.cat([old, torch.zeros(more, 4)]))  #< cause
        self.opt = torch.optim.SGD(self.table.parameters(), lr=0.1)  #! self.rate = 0.1


torch.manual_seed(0)
words = Words(5)
words.grow(3)
for step in range(3):
    loss = words.table(torch.randint(0, 8, (6,))).sub(1).square().mean()
    words.opt.zero_grad()
    loss.backward()
    words.opt.step()
