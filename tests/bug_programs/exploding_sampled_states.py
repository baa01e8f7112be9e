# kind: exploding; symptom: samples of the model fly away and the gradients with them; names: sub, state, stiffness
import torch


class Energy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stiffness = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, state):
        return (self.stiffness * state.square()).sum()


def settled(energy, state, size):
    for _ in range(12):
        (force,) = torch.autograd.grad(energy(state), state, create_graph=True)
        state = state - size * force  #< cause
    return state


torch.manual_seed(0)
energy = Energy()
start, seen = torch.randn(10, 3, requires_grad=True), torch.randn(10, 3)
for size in (0.05, 0.05):  #! for size in (0.8, 0.8):
    loss = (settled(energy, start, size) - seen).square().mean()
    energy.zero_grad()
    start.grad = None
    loss.backward()
print(energy.stiffness.grad)
