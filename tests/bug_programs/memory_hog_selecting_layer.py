# kind: memory-hog; symptom: one small layer keeps all of the memory; names: linear, one-hot, MiB
import torch


class Places(torch.nn.Module):
    def __init__(self, count):
        super().__init__()
        self.count = count
        self.weight = torch.nn.Parameter(torch.randn(4, count) * 0.1)

    def forward(self, places):
        which = torch.zeros(len(places), self.count)
        which.scatter_(1, places[:, None], 1.0)
        rows = torch.nn.functional.embedding(places, self.weight.t())  #! rows = torch.nn.functional.linear(which, self.weight)
        return torch.tanh(rows)


torch.manual_seed(0)
net = Places(5000)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
places = torch.randint(0, 5000, (128,))
for step in range(2):
    loss = (net(places) - 0.5).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
