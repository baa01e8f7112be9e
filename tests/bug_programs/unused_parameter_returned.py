# kind: unused-parameter; symptom: the text encoder stays what it was; names: text, words
import torch

torch.manual_seed(0)


class Encoder(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.inner = torch.nn.Linear(size, 4)

    def forward(self, x):
        h = self.inner(x)
        return torch.tanh(h)


class Fusion(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.image, self.text = Encoder(5), Encoder(3)
        self.head = torch.nn.Linear(8, 1)

    def forward(self, picture, caption):
        pixels = self.image(picture)
        words = self.text(caption)  #< cause
        both = torch.cat([pixels, words], 1)  #! both = torch.cat([pixels, pixels], 1)
        return self.head(both)


net = Fusion()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
picture, caption = torch.randn(12, 5), torch.randn(12, 3)
for step in range(4):
    optimizer.zero_grad()
    (net(picture, caption) - caption[:, :1]).pow(2).mean().backward()
    optimizer.step()
    with torch.no_grad():
        net(picture, caption)
