# kind: nan-origin; symptom: the loss is NaN; names: div, spectrum
import torch

x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
spectrum = torch.fft.fft(x - x.mean())
flat = torch.ones(4, dtype=torch.complex64) / (spectrum + 1e-3)  #! flat = torch.ones(4, dtype=torch.complex64) / spectrum
loss = torch.fft.ifft(flat).real.sum()
loss.backward()
