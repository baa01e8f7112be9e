# kind: wrong-backward; symptom: training is noisy and slow; names: Drop.backward, random
import torch


class Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        keep = (torch.rand(x.shape) > 0.5).float()
        ctx.save_for_backward(x, keep)
        return x * x * keep

    @staticmethod
    def backward(ctx, g):
        x, keep = ctx.saved_tensors
        keep = keep  #! keep = (torch.rand(x.shape) > 0.5).float()
        return 2 * x * g * keep  #< cause


torch.manual_seed(0)
x = torch.rand(6, requires_grad=True)
(Drop.apply(x) * torch.arange(6.0)).sum().backward()
print(x.grad)
