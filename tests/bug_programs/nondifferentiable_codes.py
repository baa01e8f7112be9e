# kind: nondifferentiable; symptom: the encoder of linear layers never changes; names: argmin, enc.0.weight
import torch

nn = torch.nn


class Quantized(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
        self.codes = nn.Embedding(5, 2)
        self.dec = nn.Linear(2, 4)

    def forward(self, x):
        z = self.enc(x)
        idx = ((z[:, None] - self.codes.weight) ** 2).sum(-1).argmin(1)  #< cause
        q = self.codes(idx)
        return self.dec(q + z - z.detach())  #! return self.dec(q)


torch.manual_seed(0)
model = Quantized()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(8, 4)
    loss = (model(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
