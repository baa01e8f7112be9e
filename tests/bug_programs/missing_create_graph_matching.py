# kind: missing-create-graph; symptom: the synthetic data hardly moves; names: made, create_graph
import torch

torch.manual_seed(0)
synthetic, real = torch.randn(4, 3, requires_grad=True), torch.randn(20, 3)
w = torch.randn(3, 1, requires_grad=True)


def loss_of(x):
    return ((x @ w - x.sum(1, keepdim=True)) ** 2).mean()


for step in range(3):
    wanted = torch.autograd.grad(loss_of(real), w)[0]
    made = torch.autograd.grad(loss_of(synthetic), w, create_graph=True)[0]  #! made = torch.autograd.grad(loss_of(synthetic), w)[0]
    loss = ((made - wanted) ** 2).sum() + 1e-3 * (synthetic**2).sum()
    loss.backward()
    with torch.no_grad():
        synthetic -= 0.1 * synthetic.grad
        synthetic.grad = None
