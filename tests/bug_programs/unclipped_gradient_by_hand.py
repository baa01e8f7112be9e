# kind: unclipped-gradient; symptom: weights jump; names: weight, optimizer.step()
import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1, bias=False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    (net(torch.randn(5, 3)) - 1.0).abs().sum().backward()
    net.weight.grad.clamp_(-0.2, 0.2)  #! pass
    optimizer.step()
    print(net.weight.grad.amax() < 9.0)  #! net.weight.grad.clamp_(-0.2, 0.2)  #< cause
