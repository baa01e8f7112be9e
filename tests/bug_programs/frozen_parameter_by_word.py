# kind: frozen-parameter; symptom: the image side does not learn; names: image_encoder, startswith
import torch

torch.manual_seed(0)


def tower(width):
    return torch.nn.Sequential(torch.nn.Linear(width, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4))


class Pair(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = tower(6)
        self.image_encoder = tower(9)
        self.head = torch.nn.Linear(4, 1)

    def forward(self, x, y):
        return self.head(self.encoder(x) * self.image_encoder(y))


model = Pair()
for name, p in model.named_parameters():
    if name.startswith("encoder."):  #! if "encoder" in name:
        p.requires_grad_(False)  #< cause
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = (model(torch.randn(5, 6), torch.randn(5, 9)) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
