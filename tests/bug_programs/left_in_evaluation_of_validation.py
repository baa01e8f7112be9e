# kind: left-in-evaluation; symptom: the loss on new data gets worse from the second epoch on; names: net, net.train(), eval
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
x = torch.randn(32, 4) * 3.0 + 1.0
y = x.sum(1, keepdim=True)
for epoch in range(3):
    net.train()  #! pass
    for part in (slice(0, 8), slice(8, 16), slice(16, 24)):
        optimizer.zero_grad()
        (net(x[part]) - y[part]).abs().mean().backward()
        optimizer.step()
    net.eval()  #< cause
    with torch.no_grad():
        print(epoch, bool((net(x[24:]) - y[24:]).abs().mean().isfinite()))
