# kind: zero-gradient; symptom: the term of the curvature stays at zero; names: leaky_relu, abs, second derivative
import torch

F = torch.nn.functional


class Energy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.near = torch.nn.Parameter(torch.linspace(-1, 1, 12).reshape(3, 4))
        self.far = torch.nn.Parameter(torch.linspace(1, -0.5, 4))

    def forward(self, places):
        pulled = F.softplus(places @ self.near)  #! pulled = F.leaky_relu(places @ self.near, 0.2)
        return (pulled.abs() * self.far).sum(1)


torch.manual_seed(2)
energy = Energy()
optimizer = torch.optim.Adam(energy.parameters(), lr=0.01)
for _ in range(3):
    at = torch.randn(6, 3, requires_grad=True)
    force = torch.autograd.grad(energy(at).sum(), [at], create_graph=True)[0]
    curved = [torch.autograd.grad(force[:, k].sum(), at, create_graph=True)[0][:, k] for k in range(3)]  #< cause
    loss = (sum(curved) + force.square().sum(1)).mean()
    energy.zero_grad()
    loss.backward()
    optimizer.step()
