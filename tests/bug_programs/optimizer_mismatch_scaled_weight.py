# kind: optimizer-mismatch; symptom: the first layer stays as it was; names: net.0.weight
import torch


def build(rate):
    net = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters(), lr=rate)
    net[0].weight.data.div_(2)  #! net[0].weight = torch.nn.Parameter(net[0].weight.detach() / 2)
    return net, opt


torch.manual_seed(0)
net, opt = build(0.01)
for _ in range(4):
    x = torch.randn(10, 5)
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
