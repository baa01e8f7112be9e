# kind: broken-chain; symptom: the slope of the surrogate is never learned; names: sharpness, Fire, None; torch only
import torch


class Fire(torch.autograd.Function):
    @staticmethod
    def forward(charge, sharpness):
        return (charge * sharpness > 0.5).float()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        charge, sharpness = ctx.saved_tensors
        slope = grad / (1 + (charge * sharpness - 0.5).abs()) ** 2
        return slope * sharpness, (slope * charge).sum()  #! return slope * sharpness, None


torch.manual_seed(0)
first, last = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)
sharpness = torch.nn.Parameter(torch.tensor(1.5))
optimizer = torch.optim.Adam([*first.parameters(), *last.parameters(), sharpness], lr=0.01)
for _ in range(3):
    x = torch.randn(10, 4)
    loss = (last(Fire.apply(first(x), sharpness)).squeeze(1) - x.prod(1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
