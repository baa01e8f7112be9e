import torch

torch.manual_seed(4)


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y**3) - 0.1 * t * y


def euler(field, y, end, steps=4):
    h = end / steps
    for i in range(steps):
        y = y + h * field(i * h, y)
    return y


field, begin, end = Field(), torch.randn(5, 2, requires_grad=True), torch.tensor(1.0, requires_grad=True)
optimizer = torch.optim.RMSprop(field.parameters(), lr=1e-2)
euler(field, begin, end).pow(2).sum().backward()
print(begin.grad.norm() > 0, end.grad.isfinite())  # how the end depends on the point and the time, not to train them
for _ in range(3):
    optimizer.zero_grad()
    loss = (euler(field, begin.detach(), torch.tensor(0.1)) - 1).abs().mean()
    loss.backward()
    optimizer.step()
print(bool(loss > 0))
