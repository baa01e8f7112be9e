# kind: wrong-double-backward; symptom: the penalty has no effect on the weights; names: Norm
import torch

torch.manual_seed(0)


class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        norm = (x * x).sum(1).sqrt()
        ctx.save_for_backward(x, norm)
        return norm

    @staticmethod
    def backward(ctx, grad):
        x, norm = ctx.saved_tensors
        norm = (x * x).sum(1).sqrt()  #! norm = norm.detach()
        return (grad / norm)[:, None] * x  #< cause


w = torch.randn(3, 2, requires_grad=True)
x = torch.randn(5, 3, requires_grad=True)
critic = Norm.apply((x @ w).tanh())
(g,) = torch.autograd.grad(critic.sum(), x, create_graph=True)
penalty = ((g.norm(dim=1) - 1) ** 2).mean()
penalty.backward()
