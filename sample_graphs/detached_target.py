"""A learner chases a target that is computed from the same weight but must not be trained.

What to look for: `detach()` cuts the graph, so the weight has one arrow into it and not two. Take the
detach away and the second branch appears.
"""

import retrograd as rg

rg.manual_seed(0)
now = rg.randn(4, 3)
later = rg.randn(4, 3)
weight = rg.randn(3, 1, requires_grad=True)


def build():
    """The squared distance between a prediction and a target that is held fixed."""
    value = now @ weight
    target = (0.9 * (later @ weight)).detach()
    return ((value - target) ** 2).mean()


if __name__ == "__main__":
    loss = build()
    loss.backward()
    print(f"loss {loss.item():.4f}")
