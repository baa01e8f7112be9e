# kind: wrong-double-backward; symptom: the Hessian is that of the penalty alone; names: Bell.backward, middle
import torch


class Bell(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(middle):
        value = torch.exp(-middle * middle)
        return value, -2 * middle * value

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(inputs[0])  #! ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx, incoming, _):
        (kept,) = ctx.saved_tensors
        return incoming * (-2 * kept * torch.exp(-kept * kept))  #! return incoming * kept  #< cause


def misfit(place, table):
    return Bell.apply(table @ place)[0].sum() + 0.1 * place.pow(2).sum()


torch.manual_seed(2)
table = torch.randn(7, 3)
slope = torch.func.grad(misfit)
curvature = torch.func.jacrev(slope)(torch.full((3,), 0.2), table)
print(curvature.diagonal().sum())
