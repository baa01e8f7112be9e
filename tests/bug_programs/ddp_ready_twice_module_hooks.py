# kind: ddp-ready-twice; symptom: the reducer refuses a gradient; names: trunk.bias, add the losses
import torch

torch.manual_seed(0)
trunk, heads = torch.nn.Linear(3, 4), torch.nn.ModuleList([torch.nn.Linear(4, 1) for _ in range(2)])
optimizer = torch.optim.SGD([*trunk.parameters(), *heads.parameters()], lr=0.1)


class Sender:
    def __init__(self, parameters):
        self.sent = {}
        for number, p in enumerate(parameters):
            p.register_hook(lambda grad, number=number: self.send(number, grad))

    def send(self, number, grad):
        assert number not in self.sent
        self.sent[number] = grad
        return grad


sender = Sender(trunk.parameters())
for step in range(2):
    sender.sent.clear()
    features = torch.relu(trunk(torch.randn(6, 3)))
    optimizer.zero_grad()
    losses = [head(features).square().mean() for head in heads]
    torch.stack(losses).sum().backward()  #! for loss in losses: loss.backward(retain_graph=True)
    optimizer.step()
