import torch

# A contraction is iterated until nothing changes any more: its first steps have nothing to teach, and nothing is lost.
torch.manual_seed(11)
mix = torch.randn(5, 5).mul(0.1).requires_grad_()
shift = torch.randn(5, requires_grad=True)
rate = torch.tensor(2.7, requires_grad=True)


def settled(steps):
    z = torch.zeros(5)
    for _ in range(steps):
        z = torch.tanh(mix @ z + shift)
    return z


def population(steps):
    x = torch.tensor([0.3, 0.31, 0.32])
    for _ in range(steps):
        x = rate * x * (1 - x)
    return x


goal = torch.full((5,), 0.3)
opt = torch.optim.SGD([mix, shift, rate], lr=0.01)
for epoch in range(2):
    loss = (settled(40) - goal).pow(2).sum() + (population(70) - 0.6).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", float(loss.detach()) > 0)
