# kind: graph-growth; symptom: memory grows from step to step; names: loss, item
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 10), torch.nn.Tanh(), torch.nn.Linear(10, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, history = torch.rand(6, 3), []
for step in range(6):
    loss = net(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.item())  #! history.append(loss)
curved = torch.vmap(lambda v: torch.func.hessian(lambda w: net(w).squeeze())(v).trace())(x)
print("mean", sum(history) / len(history), curved.mean())
