"""Two residual blocks: a skip connection around each pair of layers.

What to look for: each block's input goes both into its first product and straight to the addition at
its end. The short way should be drawn in a lane beside the block, and the gradient that comes down it is
not touched by any weight.
"""

import retrograd as rg

rg.manual_seed(0)
batch = rg.randn(4, 6)
up_1 = (rg.randn(6, 12) * 0.4).requires_grad_()
down_1 = (rg.randn(12, 6) * 0.3).requires_grad_()
up_2 = (rg.randn(6, 12) * 0.4).requires_grad_()
down_2 = (rg.randn(12, 6) * 0.3).requires_grad_()


def block(x, w_up, w_down):
    """x plus what two layers make of it."""
    return x + rg.relu(x @ w_up) @ w_down


def build():
    """The mean square of what two residual blocks make of a batch."""
    x = block(batch, up_1, down_1)
    x = block(x, up_2, down_2)
    return (x**2).mean()


if __name__ == "__main__":
    loss = build()
    loss.backward()
    print(f"loss {loss.item():.4f}")
