"""Dropout in evaluation on purpose: said in the call, switched on layer by layer, and as noise on data."""

import torch

F = torch.nn.functional


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.drop, self.last = torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1)

    def forward(self, x):
        hidden = F.dropout(F.relu(self.first(x)), p=0.5, training=True)
        hidden = F.dropout(hidden, 0.1, self.training)
        return self.last(self.drop(hidden))


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(3):
    x = torch.randn(5, 4)
    loss = net(F.dropout(x, 0.2)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
net.eval()
for layer in net.modules():
    if isinstance(layer, torch.nn.Dropout):
        layer.train()
with torch.no_grad():
    print(torch.stack([net(x) for _ in range(4)]).shape)
