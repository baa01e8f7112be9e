# kind: create-graph-cycle; symptom: memory grows with each fold; names: create_graph
import torch


class Line(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3, 1))

    def forward(self, x):
        return torch.tanh(x @ self.weight)


torch.manual_seed(0)
model = Line()
opt = torch.optim.SGD(model.parameters(), lr=0.1)  # both made anew in each fold
x = torch.randn(9, 3)
for fold in range(3):
    model = Line()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = (model(x) - 1.0).square().mean()
    grads = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)  #! loss.backward(create_graph=True)
    sharpness = sum(g.square().sum() for g in grads)  #! sharpness = sum(p.grad.square().sum() for p in model.parameters())
    (loss + 0.1 * sharpness).backward()  #! (0.1 * sharpness).backward()
    opt.step()
