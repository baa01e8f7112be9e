# kind: broken-chain; symptom: the filter of the layer stays as it was; names: taps, Smooth, apply; torch only
import torch


class Smooth(torch.autograd.Function):
    @staticmethod
    def forward(ctx, signal, taps, layer):
        ctx.save_for_backward(signal)
        ctx.layer = layer
        return torch.nn.functional.conv1d(signal, layer.taps)

    @staticmethod
    def backward(ctx, grad):
        (signal,) = ctx.saved_tensors
        of_signal = torch.nn.functional.conv_transpose1d(grad, ctx.layer.taps)
        of_taps = torch.nn.functional.conv1d(signal.transpose(0, 1), grad.transpose(0, 1)).transpose(0, 1)
        return of_signal, of_taps if ctx.needs_input_grad[1] else None, None


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.before = torch.nn.Conv1d(1, 1, 3)
        self.taps = torch.nn.Parameter(torch.randn(1, 1, 5))

    def forward(self, signal):
        return Smooth.apply(self.before(signal), self.taps, self)  #! return Smooth.apply(self.before(signal), None, self)


torch.manual_seed(0)
layer = Layer()
optimizer = torch.optim.SGD(layer.parameters(), lr=0.05)
for _ in range(3):
    wave = torch.randn(2, 1, 20)
    error = (layer(wave) - wave[..., 3:-3]).square().mean()
    optimizer.zero_grad()
    error.backward()
    optimizer.step()
