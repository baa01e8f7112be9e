# kind: hook-leak; symptom: every epoch notes each step once more; names: ReLU, remove
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
noted = []


def epoch():
    handle = net[1].register_forward_hook(lambda layer, given, made: noted.append(float(made.detach().mean())))  #< cause
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(5, 4)).pow(2).mean().backward()
        opt.step()
    handle.remove()  #! pass


for _ in range(3):
    epoch()
