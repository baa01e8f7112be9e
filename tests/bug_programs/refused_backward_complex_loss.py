# kind: refused-backward; symptom: RuntimeError that speaks of real scalar outputs; names: power, complex
import torch

torch.manual_seed(0)
signal = torch.rand(8, requires_grad=True)
spectrum = torch.fft.fft(signal)
power = (spectrum * spectrum.conj()).sum().real  #! power = (spectrum * spectrum.conj()).sum()
power.backward()  #< cause
print(signal.grad)
