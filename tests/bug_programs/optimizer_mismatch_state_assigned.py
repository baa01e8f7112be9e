# kind: optimizer-mismatch; symptom: the loaded weights stay as they are; names: load_state_dict(assign=True)
import torch

torch.manual_seed(0)
net, other = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net.load_state_dict(other.state_dict())  #! net.load_state_dict(other.state_dict(), assign=True)
for _ in range(3):
    x = torch.randn(8, 3)
    optimizer.zero_grad()
    (net(x) - x.sum(1, keepdim=True)).square().mean().backward()
    optimizer.step()
