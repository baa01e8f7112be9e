# kind: wrong-backward; symptom: training is noisier than it was; names: Frugal.backward, computes again, rand_like
import torch


class Frugal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, signal, seed):
        ctx.block, ctx.seed = block, seed
        ctx.save_for_backward(signal)
        return block(signal, seed)

    @staticmethod
    def backward(ctx, incoming):
        again = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            (slope,) = torch.autograd.grad(ctx.block(again, ctx.seed), again, incoming)  #< cause
        return None, slope, None


def jittered(signal, seed):
    torch.manual_seed(seed)  #! pass
    kept = torch.rand_like(signal) > 0.5
    return torch.tanh(signal * kept)


torch.manual_seed(3)
signal, layer = torch.randn(8, 5), torch.nn.Linear(5, 5)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for step in range(3):
    loss = Frugal.apply(jittered, layer(signal), step).pow(2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
