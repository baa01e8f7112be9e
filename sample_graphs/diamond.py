"""One value used twice and joined again: the smallest graph that is not a chain.

What to look for: x has two arrows into it. Its gradient is the sum of what comes back through exp and
through sin, and its accumulator runs only after both have arrived.
"""

import retrograd as rg

x = rg.tensor([0.5, 1.0, 1.5], requires_grad=True)


def build():
    """The sum of exp(x) * sin(x) for three numbers."""
    left = rg.exp(x)
    right = rg.sin(x)
    return (left * right).sum()


if __name__ == "__main__":
    loss = build()
    loss.backward()
    print(f"loss {loss.item():.4f}")
