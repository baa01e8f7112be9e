# kind: ctx-leak; symptom: memory grows until the garbage collector comes by; names: FusedSiLU, ctx.cache
import types

import torch


class FusedSiLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sig = torch.sigmoid(x)
        out = x * sig
        ctx.cache = types.SimpleNamespace(scale=1.0)  #! ctx.cache = types.SimpleNamespace(scale=1.0, out=out)
        ctx.save_for_backward(x)
        return out

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        sig = torch.sigmoid(x)
        return g * ctx.cache.scale * sig * (1 + x * (1 - sig))


w = torch.randn(4, 4, requires_grad=True)
for _ in range(3):
    loss = FusedSiLU.apply(torch.randn(8, 4) @ w).pow(2).mean()
    loss.backward()
    w.grad = None
