"""An equilibrium layer: the hook on its output removes itself and solves for the gradient, once in each step."""

import torch

torch.manual_seed(1)
recur, drive = torch.nn.Linear(5, 5, bias=False), torch.nn.Linear(3, 5)
readout = torch.nn.Linear(5, 1)
with torch.no_grad():
    recur.weight.mul_(0.3)
optimizer = torch.optim.Adam([*recur.parameters(), *drive.parameters(), *readout.parameters()], lr=1e-2)


def settle(x):
    with torch.no_grad():
        state = torch.zeros(x.shape[0], 5)
        for _ in range(25):
            state = torch.tanh(recur(state) + drive(x))
    state.requires_grad_()
    output = torch.tanh(recur(state) + drive(x))

    def solve(arriving):
        handle.remove()
        total = arriving
        for _ in range(25):
            total = torch.autograd.grad(output, state, total, retain_graph=True)[0] + arriving
        return total

    handle = output.register_hook(solve)
    return output


for _ in range(4):
    x = torch.randn(8, 3)
    loss = (readout(settle(x)).squeeze(-1) - x.sin().sum(1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
