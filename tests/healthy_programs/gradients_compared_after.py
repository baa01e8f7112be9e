import torch

torch.manual_seed(5)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(6, 3)
for step in range(3):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()
fresh = torch.nn.Linear(3, 1).double()
found = []
for loss in (lambda out: out.pow(2).mean(), lambda out: (out * out).mean()):
    fresh.zero_grad()
    loss(fresh(x.double())).backward()
    found.append(torch.cat([p.grad.view(-1) for p in fresh.parameters()]))
print("same", torch.allclose(*found))
