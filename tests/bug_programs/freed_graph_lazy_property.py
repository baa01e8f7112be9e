# kind: freed-graph; symptom: the second step raises; names: adjacency, anew; torch only
import torch
from torch import nn


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.nodes, self.lin = nn.Parameter(torch.randn(5, 3)), nn.Linear(2, 2)
        self.known = None

    @property
    def adjacency(self):
        if self.known is None or self.training:  #! if self.known is None:
            self.known = torch.softmax(self.nodes @ self.nodes.t(), 1)  #< cause
        return self.known

    def forward(self, x):
        return self.lin(self.adjacency @ x)


torch.manual_seed(0)
net = Conv()
opt = torch.optim.SGD(net.parameters(), 0.1)
for epoch in range(2):
    loss = net(torch.randn(5, 2)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
