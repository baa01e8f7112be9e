# kind: optimizer-mismatch; symptom: the decoder stays as it began; names: decoder
import torch

torch.manual_seed(12)


class Auto(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Linear(8, 3)
        self.decoder = torch.nn.Linear(3, 8)

    def forward(self, x):
        return self.decoder(torch.tanh(self.encoder(x)))


auto = Auto()
opt = torch.optim.Adam(auto.parameters())  #! opt = torch.optim.Adam(auto.encoder.parameters())
data = torch.randn(16, 8)
for step in range(3):
    opt.zero_grad()
    loss = (auto(data) - data).pow(2).mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(auto.parameters(), 1.0)
    opt.step()
print("loss", float(loss.detach()) > 0)
