# kind: unused-parameter; symptom: the copies of the weights never move; names: net.0.weight, never uses, program.py:15
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1))
weights = {name: one.detach().clone() for name, one in net.named_parameters()}
x, y = torch.randn(20, 3), torch.randn(20, 1)


def objective(given):
    return torch.nn.functional.mse_loss(torch.func.functional_call(net, given, (x,)), y)  #! return torch.nn.functional.mse_loss(net(x), y)


for step in range(4):
    slopes, value = torch.func.grad_and_value(objective)(weights)
    weights = {name: one - 0.1 * slopes[name] for name, one in weights.items()}
