# kind: missing-create-graph; symptom: the synthetic data hardly moves; names: create_graph
import torch

torch.manual_seed(0)
synthetic, real = torch.randn(4, 3, requires_grad=True), torch.randn(20, 3)
w = torch.randn(3, 1, requires_grad=True)
opt = torch.optim.SGD([synthetic], lr=0.1)


def gradient(x, **how):
    return torch.autograd.grad(((x @ w - x.sum(1, keepdim=True)) ** 2).mean(), [w], **how)  #< cause


for step in range(3):
    wanted = gradient(real)
    made = gradient(synthetic, create_graph=True)  #! made = gradient(synthetic)
    loss = sum(((one - other) ** 2).sum() for one, other in zip(made, wanted)) + 1e-3 * (synthetic**2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
