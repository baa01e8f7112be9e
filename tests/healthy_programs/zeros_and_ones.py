"""Matrices of zeros and ones that are data, and small ones that pick: features, links, words of documents, classes."""

import torch

torch.manual_seed(0)

# a node has no feature but its own name, and links to its neighbours
nodes = 600
links = (torch.rand(nodes, nodes) < 0.01).float() + torch.eye(nodes)
features = torch.eye(nodes)
inner = (torch.randn(nodes, 4) * 0.1).requires_grad_()
outer = (torch.randn(4, 2) * 0.1).requires_grad_()
for step in range(2):
    loss = (links @ (torch.relu(links @ (features @ inner)) @ outer) - 1).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        for p in (inner, outer):
            p -= 1e-3 * p.grad
            p.grad = None
print(f"{float(loss.detach()):.3f}")

# which words a document has, and the class of each
documents = torch.zeros(150, 2000)
for number in range(150):
    documents[number, torch.randint(0, 2000, (20,))] = 1.0
classes = torch.nn.functional.one_hot(torch.arange(150) % 3, 3).float()
layer, bias = torch.nn.Linear(2000, 3), (torch.zeros(3, 3)).requires_grad_()
opt = torch.optim.SGD([*layer.parameters(), bias], lr=0.1)
for step in range(2):
    chances = torch.log_softmax(layer(documents) + classes @ bias, 1)
    loss = -(classes * chances).sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"{float(loss.detach()):.3f}")
