# kind: broken-chain; symptom: the size of inner steps is never learned; names: size, functional_call
import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
size = torch.nn.Parameter(torch.tensor(0.1))
optimizer = torch.optim.SGD([*net.parameters(), size], lr=0.01)
for _ in range(3):
    x, y = torch.randn(6, 3), torch.randn(6, 1)
    begun = {name: p.detach().clone() for name, p in net.named_parameters()}
    inner = (net(x) - y).square().mean()
    slopes = torch.autograd.grad(inner, list(net.parameters()), create_graph=True)
    moved = {name: p - size * g for (name, p), g in zip(net.named_parameters(), slopes)}
    net.load_state_dict(begun)  #! net.load_state_dict(moved)
    loss = (torch.func.functional_call(net, moved, (x,)) - y).square().mean()  #! loss = (net(x) - y).square().mean()
    optimizer.zero_grad()
    loss.backward()
    net.load_state_dict(begun)
    optimizer.step()
