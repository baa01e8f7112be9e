# kind: double-count; symptom: the fit counts twice as much as the penalty's factor says; names: loss, penalised
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    loss = net(torch.randn(5, 3)).pow(2).mean()
    steepness = sum(g.pow(2).sum() for g in torch.autograd.grad(loss, list(net.parameters()), create_graph=True))
    loss.backward(retain_graph=True)  #< cause
    penalised = 0.1 * steepness  #! penalised = loss + 0.1 * steepness
    penalised.backward()
    opt.step()
