# kind: wrong-backward; symptom: no gradient arrives at all; names: Gate.backward, share memory, clone; torch only
import torch


class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        g = g.clone()  #! pass
        g[x < 0] = 0.0  #< cause
        return g


x = torch.tensor([-1.0, 2.0, 3.0], requires_grad=True)
Gate.apply(x).sum().backward()
print(x.grad)
