# kind: wrong-backward; symptom: learns, but worse than by plain calls; names: rate, level, exchanged; torch only
import torch


class Decay(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rate, level):
        kept = torch.exp(-rate)
        ctx.save_for_backward(kept, level)
        return kept * level

    @staticmethod
    def backward(ctx, grad):
        kept, level = ctx.saved_tensors
        of_rate, of_level = -grad * kept * level, grad * kept
        return of_rate, of_level  #! return of_level, of_rate


torch.manual_seed(0)
rate, level = torch.nn.Parameter(torch.rand(4)), torch.nn.Parameter(torch.rand(4))
optimizer = torch.optim.SGD([rate, level], lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    (Decay.apply(rate, level) - 1).square().sum().backward()
    optimizer.step()
