"""A recurrent cell unrolled over four steps: the same two weights are used in every step.

What to look for: w_in and w_state appear once per use, and each has a single accumulator that is fed from
all four steps. The state runs through the picture as one long path, which is where gradients vanish.
"""

import retrograd as rg

STEPS = 4

rg.manual_seed(0)
sequence = rg.randn(STEPS, 2, 3)
target = rg.randn(2, 5)
w_in = (rg.randn(3, 5) * 0.5).requires_grad_()
w_state = (rg.randn(5, 5) * 0.5).requires_grad_()


def build():
    """The squared error of a recurrent net's last state."""
    state = rg.zeros(2, 5)
    for step in range(STEPS):
        state = rg.tanh(sequence[step] @ w_in + state @ w_state)
    return ((state - target) ** 2).mean()


if __name__ == "__main__":
    loss = build()
    loss.backward()
    print(f"loss {loss.item():.4f}")
