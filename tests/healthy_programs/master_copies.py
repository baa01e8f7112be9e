"""A network in half precision whose optimizer holds copies in single precision, given their gradients by hand."""

import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).half()
master = [p.detach().clone().float().requires_grad_() for p in net.parameters()]
optimizer = torch.optim.SGD(master, lr=0.1)
scale = 1024.0
inputs, labels = torch.randn(16, 8).half(), torch.randint(0, 4, (16,))
for _ in range(3):
    loss = torch.nn.functional.cross_entropy(net(inputs).float(), labels)
    net.zero_grad()
    (loss * scale).backward()
    for copy, p in zip(master, net.parameters(), strict=True):
        copy.grad = p.grad.float() / scale
    optimizer.step()
    for copy, p in zip(master, net.parameters(), strict=True):
        p.data.copy_(copy.data)
    print(loss.item())
