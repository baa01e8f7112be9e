# kind: broken-chain; symptom: the lower layers learn through the shortcut alone; names: .data, lacks all; torch only
import torch


class Residual(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.inner = torch.nn.LayerNorm(width), torch.nn.Linear(width, width)

    def forward(self, carried):
        inside = carried  #! inside = torch.autograd.Variable(carried.data, requires_grad=True)
        return carried + torch.tanh(self.inner(self.norm(inside)))


torch.manual_seed(4)
net = torch.nn.Sequential(torch.nn.Linear(3, 8), Residual(8), Residual(8), torch.nn.Linear(8, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
points = torch.randn(30, 3)
for epoch in range(3):
    error = (net(points) - points.prod(1, keepdim=True)).abs().mean()
    optimizer.zero_grad()
    error.backward()
    optimizer.step()
