# kind: graph-growth; symptom: memory grows with every step; names: loss, 8 steps, .item()
import torch

torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
history = ()
for step in range(8):
    x = torch.randn(8, 4)
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history = (*history, loss.item())  #! history = (*history, loss)
print(len(history))
