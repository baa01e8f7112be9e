"""Stages of an integrator fill the columns of one table past the version counter; none is overwritten."""

import torch


class Put(torch.autograd.Function):
    """Writes a column and gives the table on."""

    @staticmethod
    def forward(ctx, table, column, place):
        ctx.place = place
        table.data[:, place] = column
        return table

    @staticmethod
    def backward(ctx, grad):
        return grad, grad[:, ctx.place], None


def heun(field, state, weights):
    """One step; each stage starts from a weighted sum of those before."""
    table = torch.zeros(state.shape[0], len(weights) + 1)
    table = Put.apply(table, field(state), 0)
    for stage, weight in enumerate(weights):
        state = state + (table[:, : stage + 1] * weight).sum(1)
        table = Put.apply(table, field(state), stage + 1)
    return state


torch.manual_seed(0)
speed = torch.randn(5, 5, requires_grad=True)
weights = [torch.full((stage + 1,), 0.2, requires_grad=True) for stage in range(3)]
opt = torch.optim.SGD([speed, *weights], lr=0.05)
for _ in range(3):
    loss = heun(lambda y: torch.tanh(speed @ y), torch.ones(5), weights).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
