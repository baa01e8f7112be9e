"""A loss that turns into NaN, because a logarithm meets a zero.

What to look for: the relu makes an exact 0, its logarithm is minus infinity, and 0 times minus infinity
is NaN. The loss is where one notices it; the cause is the line with the log. Write
`rg.log(shares.clamp(min=1e-12))`, or take a softmax, to cure it.
"""

import retrograd as rg

features = rg.tensor([[1.0, -2.0], [0.5, 1.5]])
weight = rg.tensor([[0.4, -0.6, 0.8], [0.3, 0.9, -0.2]], requires_grad=True)


def build():
    """The entropy of scores that a relu cut off at zero: NaN."""
    scores = rg.relu(features @ weight)
    shares = scores / scores.sum()
    surprise = rg.log(shares)
    return -(shares * surprise).sum()


if __name__ == "__main__":
    loss = build()
    loss.backward()
    print(f"loss {loss.item():.4f}")
