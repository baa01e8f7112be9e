# kind: refused-setup; symptom: ValueError, some parameters appear in more than one group; names: words.weight; torch only
import torch


class Pair(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(7, 4)
        self.ask, self.answer = torch.nn.ModuleList([self.words]), torch.nn.ModuleList([self.words])
        self.rest = torch.nn.Linear(4, 4)


def groups(pair):
    first = {"params": pair.ask.parameters(), "lr": 1e-2}
    return [first, {"params": pair.rest.parameters()}]  #! return [first, {"params": pair.answer.parameters()}]


pair = Pair()
optimizer = torch.optim.Adagrad(groups(pair), lr=1e-3)  #< cause
pair.rest(pair.words(torch.arange(7))).square().mean().backward()
optimizer.step()
