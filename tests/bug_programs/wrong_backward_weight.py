# kind: wrong-backward; symptom: gradcheck fails; names: Bilinear, w
import torch

torch.manual_seed(1)


class Bilinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, w, b):
        ctx.save_for_backward(a, w, b)
        return (a @ w * b).sum(1)

    @staticmethod
    def backward(ctx, grad):
        a, w, b = ctx.saved_tensors
        g = grad[:, None]
        grad_a = (g * b) @ w.t()
        grad_w = a.t() @ (g * b)  #! grad_w = a.t() @ b
        grad_b = g * (a @ w)
        return grad_a, grad_w, grad_b


w = torch.randn(3, 4, requires_grad=True)
a, b = torch.randn(6, 3), torch.randn(6, 4)
score = Bilinear.apply(a, w, b)
loss = (score**2).mean()
loss.backward()
