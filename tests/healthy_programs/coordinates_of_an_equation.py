import torch

nn = torch.nn

torch.manual_seed(0)
u = nn.Sequential(nn.Linear(2, 12), nn.Tanh(), nn.Linear(12, 1))
opt = torch.optim.Adam(u.parameters(), 1e-3)
x, t = torch.rand(10, 1, requires_grad=True), torch.rand(10, 1, requires_grad=True)
for step in range(3):
    y = u(torch.cat([x, t], 1))
    by_x, by_t = torch.autograd.grad(y, [x, t], torch.ones_like(y), create_graph=True)
    loss = (by_t + by_x).pow(2).mean() + (by_x - torch.cos(x)).pow(2).mean()  # a known function of the coordinates
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item() < 1e9)
