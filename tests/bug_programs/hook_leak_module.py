# kind: hook-leak; symptom: every step is slower than the one before; names: Linear, note
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh())
seen = []


def note(module, given, result):
    seen.append(float(result.detach().mean()))


for step in range(3):
    handle = net[0].register_forward_hook(note)  #< cause
    net.zero_grad()
    net(torch.randn(5, 3)).pow(2).mean().backward()
    handle.remove()  #! len(seen)
