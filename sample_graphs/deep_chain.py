"""A chain of 1,500 operations, deeper than Python may recurse.

What to look for: that it is drawn at all. Walking, drawing, running backward and freeing this graph must
not recurse over its depth, since Python stops at about 1,000 calls. `build(500_000)` works as well.
"""

import retrograd as rg

x = rg.tensor([1.0, -1.0], requires_grad=True)


def build(steps=750):
    """The sum of two numbers after `steps` small multiplications and additions."""
    state = x
    for _ in range(steps):
        state = state * 0.999 + 0.001
    return state.sum()


if __name__ == "__main__":
    loss = build()
    loss.backward()
    print(f"loss {loss.item():.4f}")
