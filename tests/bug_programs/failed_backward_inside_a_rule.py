# kind: failed-backward; symptom: RuntimeError on shapes in backward(); names: Outer.backward, loss
import torch


class Outer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows, weight):
        ctx.save_for_backward(rows, weight)
        return rows @ weight

    @staticmethod
    def backward(ctx, g):
        rows, weight = ctx.saved_tensors
        return g @ weight.T, rows.T @ g  #! return g @ weight, rows.T @ g


rows, weight = torch.ones(2, 3), torch.ones(3, 4, requires_grad=True)
loss = Outer.apply(rows, weight).sum()
loss.backward()
print(weight.grad)
