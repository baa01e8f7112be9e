# kind: nondifferentiable; symptom: the first layer stays as it was drawn; names: encoder.weight, ge
import torch


class Softsign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, signal, slope):
        ctx.save_for_backward(signal, slope)
        return slope * signal / (1 + signal.abs())

    @staticmethod
    def backward(ctx, incoming):
        signal, slope = ctx.saved_tensors
        shrunk = 1 + signal.abs()
        return incoming * slope / shrunk**2, (incoming * signal / shrunk).sum()


class Codec(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = torch.nn.Linear(6, 4), torch.nn.Linear(4, 6)
        self.slope = torch.nn.Parameter(torch.ones(()))

    def forward(self, frames):
        code = self.encoder(frames)
        code = Softsign.apply(code, self.slope)  #! code = Softsign.apply(code.ge(0.1).float() - 0.5, self.slope)
        return self.decoder(code)


torch.manual_seed(4)
frames, codec = torch.randn(20, 6), Codec()
optimizer = torch.optim.Adam(codec.parameters(), lr=0.01)
for epoch in range(3):
    error = (codec(frames) - frames).pow(2).mean()
    optimizer.zero_grad()
    error.backward()
    optimizer.step()
