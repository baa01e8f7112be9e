# kind: missing-detach; symptom: values learned online, one transition at a time, drift; names: target
import torch

torch.manual_seed(0)
weights = torch.zeros(4, requires_grad=True)
state = torch.rand(4)
for step in range(5):
    following = torch.rand(4)
    reward = following[0] - state[0]
    target = reward + 0.9 * (following @ weights).detach()  #! target = reward + 0.9 * (following @ weights)
    error = target - state @ weights
    (error * error).backward()
    with torch.no_grad():
        weights -= 0.1 * weights.grad
        weights.grad = None
    state = following
