# kind: nan-origin; symptom: grads are NaN in the first step; names: log
import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
params = {k: v.detach() for k, v in net.named_parameters()}


def loss_of(p, x, y):
    out = torch.func.functional_call(net, p, (x,))
    weight = torch.log(x.sum() + 1)  #! weight = torch.log(x.sum() - x.sum())
    return (out - y).pow(2).mean() * weight


x, y = torch.rand(4, 3), torch.rand(4, 1)
for step in range(3):
    grads, value = torch.func.grad_and_value(loss_of)(params, x, y)
    params = {k: v - 0.1 * grads[k] for k, v in params.items()}
print(float(value))
