"""A gradient penalty: the loss contains a gradient, so backward runs through a backward.

What to look for: the upper half of the graph is the loss, the lower half was made by `autograd.grad` with
create_graph=True while it computed the gradient with respect to x; both halves meet in the weights.
"""

import retrograd as rg

rg.manual_seed(0)
x = rg.randn(4, 3, requires_grad=True)
w1 = rg.randn(3, 5, requires_grad=True)
w2 = rg.randn(5, 1, requires_grad=True)


def build():
    """A critic's score plus the distance of its input gradient's length from one."""
    score = (rg.tanh(x @ w1) @ w2).mean()
    (slope,) = rg.autograd.grad(score, x, create_graph=True)
    penalty = ((slope**2).sum() - 1) ** 2
    return score + 10 * penalty


if __name__ == "__main__":
    loss = build()
    loss.backward()
    print(f"loss {loss.item():.4f}")
