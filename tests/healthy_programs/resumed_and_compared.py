import torch

torch.manual_seed(0)


def made():
    return torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))


net, x, y = made(), torch.randn(8, 3), torch.arange(8) % 2
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for _ in range(3):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()
again = made()
again.load_state_dict(net.state_dict())
ready = torch.optim.SGD(again.parameters(), lr=1.0)  # restored to look whether all is there; this run takes no step
ready.load_state_dict(optimizer.state_dict())
print(torch.equal(net(x), again(x)), ready.param_groups[0]["lr"])
image = x.clone().requires_grad_()
net(image)[:, 1].sum().backward()
print(image.grad.norm() > 0)
