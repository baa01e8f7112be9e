# kind: unused-parameter; symptom: the gains of the controller stay as they were; names: never uses what
import torch

torch.manual_seed(0)
gain = torch.tensor([0.4, 0.1])


def run(gains, target):
    state, total = torch.zeros(()), torch.zeros(())
    for _ in range(6):
        state = state + gains[0] * (target - state) - gains[1] * state  #! state = state + gain[0] * (target - state) - gain[1] * state
        total = total + (state - target) ** 2
    return total


targets = torch.linspace(0.5, 2, 5)
for _ in range(3):
    slopes = torch.func.vmap(torch.func.grad(run), in_dims=(None, 0))(gain, targets)  #< cause
    gain = gain - 0.01 * slopes.mean(0)
