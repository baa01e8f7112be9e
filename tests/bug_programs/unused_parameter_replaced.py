# kind: unused-parameter; symptom: half of the weights stay as they were; names: net.weight, with other tensors in place
import torch

torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
other = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD([*net.parameters(), *other.parameters()], lr=0.1)
weights = dict(other.named_parameters())
for step in range(3):
    x = torch.randn(8, 4)
    out = torch.func.functional_call(net, weights, (x,))  #< cause
    pass  #! out = out * 1
    out = out + net(x)  #! out = out + 1
    loss = (out - x.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
