# kind: wrong-backward; symptom: the fit is slow and ends beside the right parameters; names: Softplus, x
import torch

torch.manual_seed(0)


class Softplus(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x)
        ctx.beta = beta
        return torch.log(1 + torch.exp(beta * x)) / beta

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        slope = torch.sigmoid(ctx.beta * x)  #! slope = torch.sigmoid(x)
        return grad * slope, None  #< cause


w = torch.randn(3, 1, requires_grad=True)
x, y = torch.randn(20, 3), torch.rand(20, 1)
opt = torch.optim.SGD([w], lr=0.1)
for _ in range(3):
    loss = ((Softplus.apply(x @ w, 2.0) - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
