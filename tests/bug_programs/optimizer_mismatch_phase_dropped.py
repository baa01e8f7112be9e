# kind: optimizer-mismatch; symptom: the delay is not learned; names: mask.turn, complex, imaginary; torch only
import torch
from torch import nn


class Mask(nn.Module):
    def __init__(self):
        super().__init__()
        self.turn = nn.Parameter(torch.ones(5, dtype=torch.complex64))

    def forward(self, wave):
        return torch.fft.irfft(torch.fft.rfft(wave) * self.turn, n=8)


torch.manual_seed(0)
mask = Mask()
mask = mask.float()  #! mask = mask.to(dtype=torch.float32)
optimizer = torch.optim.Adam(mask.parameters(), lr=0.1)
for _ in range(3):
    wave = torch.randn(4, 8)
    optimizer.zero_grad()
    (mask(wave) - wave.roll(1, 1)).square().mean().backward()
    optimizer.step()
