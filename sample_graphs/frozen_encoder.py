"""A head is trained on what a fixed encoder gives, and pulled toward a teacher that is not trained either.

What to look for: `retrograd trace --level full --view both` draws encoder and teacher in grey. At dashed red lines
`no_grad` stops the gradient; along dotted lines none was asked for. Only the head's parameters are green.
"""

import retrograd as rg

rg.manual_seed(0)
encoder = rg.nn.Sequential(rg.nn.Linear(6, 8), rg.nn.ReLU())
teacher = rg.nn.Linear(8, 2).requires_grad_(False)
head = rg.nn.Linear(8, 2)
picture = rg.randn(4, 6)


def build():
    """The squared distance between head and teacher, over features without a gradient."""
    with rg.no_grad():
        features = encoder(picture)
    return ((head(features) - teacher(features)) ** 2).mean()


if __name__ == "__main__":
    loss = build()
    loss.backward()
    print(f"loss {loss.item():.4f}")
