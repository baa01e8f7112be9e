# kind: broken-chain; symptom: the encoder stays what it was; names: data, enc.weight; torch only
import torch
from torch.autograd import Variable

torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = torch.nn.Linear(6, 3), torch.nn.Linear(3, 6)

    def forward(self, x):
        code = torch.tanh(self.enc(x))
        z = code  #! z = Variable(code.data, requires_grad=True)
        return self.dec(z)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(10, 6)
for step in range(4):
    optimizer.zero_grad()
    (net(x) - x).pow(2).mean().backward()
    optimizer.step()
