# kind: missing-zero-grad; symptom: the map of what counts changes how the net is trained; names: rows.grad, learn.step
import torch

torch.manual_seed(1)
net = torch.nn.Linear(5, 2)
learn = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(3):
    rows, wanted = torch.randn(6, 5, requires_grad=True), torch.randn(6, 2)
    first = net(rows).sum()
    first.backward()  #< cause
    weight = rows.grad.abs().sum(1, keepdim=True)
    net.zero_grad()  #! list(net.parameters())
    spread = (weight * (net(rows.detach()) - wanted).square()).mean()
    spread.backward()
    learn.step()
    net.zero_grad()
