# kind: optimizer-mismatch; symptom: the text tower never changes; names: text.weight, text.bias, model.parameters()
import torch

nn = torch.nn


class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.image = nn.Linear(3, 4)
        self.text = nn.Linear(2, 4)

    def forward(self, a, b):
        return (self.image(a) * self.text(b)).sum(1)


torch.manual_seed(0)
model = Towers()
opt = torch.optim.SGD(model.parameters(), lr=0.1)  #! opt = torch.optim.SGD(model.image.parameters(), lr=0.1)
for _ in range(3):
    loss = (model(torch.randn(8, 3), torch.randn(8, 2)) - 1.0).pow(2).mean()
    model.zero_grad()
    loss.backward()
    opt.step()
