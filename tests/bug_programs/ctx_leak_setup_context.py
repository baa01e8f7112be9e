# kind: ctx-leak; symptom: memory stays until the garbage collector runs; names: SoftSign, cached
import torch


class SoftSign(torch.autograd.Function):
    @staticmethod
    def forward(x, scale):
        u = x * scale
        return u / (1 + u.abs())

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.cached = output.shape  #! ctx.cached = output

    @staticmethod
    def backward(ctx, g):
        x, scale = ctx.saved_tensors
        g = g / (1 + (x * scale).abs()) ** 2
        return g * scale, (g * x).sum(0)


torch.manual_seed(0)
layer, scale = torch.nn.Linear(5, 6), torch.nn.Parameter(torch.linspace(0.5, 1.5, 6))
opt = torch.optim.SGD([*layer.parameters(), scale], lr=0.05)
for _ in range(6):
    loss = SoftSign.apply(layer(torch.randn(10, 5)), scale).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
