# kind: hook-never-fires; symptom: nothing is printed; names: probe
import torch

w = torch.ones(3, requires_grad=True)
h = torch.tanh(w)
probe = h  #! probe = h.clone()
probe.register_hook(lambda grad: print("gradient", grad))  #< cause
loss = (h**2).sum()
loss.backward()
