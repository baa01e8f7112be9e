# kind: frozen-parameter; symptom: the encoder stays what it was; names: require_grad, requires_grad = True
import torch

torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Linear(4, 6)
        self.head = torch.nn.Linear(6, 1)

    def forward(self, x):
        return self.head(torch.tanh(self.encoder(x)))

    def train_encoder(self, on):
        for p in self.encoder.parameters():
            if on:
                p.requires_grad = True  #! p.require_grad = True
            else:
                p.requires_grad = False


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(16, 4)
for epoch in range(6):
    net.train_encoder(epoch >= 2)
    optimizer.zero_grad()
    ((net(x) - x[:, :1]) ** 2).mean().backward()
    optimizer.step()
