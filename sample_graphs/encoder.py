"""A transformer encoder of twelve layers, written with plain functions and rg.scope.

What to look for: 500 nodes, but the drawing opens with one layer, "layers × 12", because all twelve have the
same structure. Open more of it with --expand all, or one layer with --expand encoder/layer/3.
"""

import retrograd as rg
from retrograd.nn import functional as F

LAYERS, LENGTH, WIDTH, HEADS = 12, 6, 16, 4

rg.manual_seed(0)
tokens = rg.randint(0, 50, (LENGTH,))
targets = rg.randint(0, 50, (LENGTH,))


def weights(*shape):
    """Small random numbers to be learned."""
    return (rg.randn(*shape) * 0.1).requires_grad_()


embedding = weights(50, WIDTH)
head = weights(50, WIDTH)
layers = [
    {
        "scale_1": rg.ones(WIDTH, requires_grad=True),
        "qkv": weights(3 * WIDTH, WIDTH),
        "out": weights(WIDTH, WIDTH),
        "scale_2": rg.ones(WIDTH, requires_grad=True),
        "up": weights(4 * WIDTH, WIDTH),
        "down": weights(WIDTH, 4 * WIDTH),
    }
    for _ in range(LAYERS)
]


@rg.scope("attention")
def attention(x, layer):
    """Every token looks at every other, four heads side by side."""
    q, k, v = F.linear(x, layer["qkv"]).view(LENGTH, 3, HEADS, -1).permute(1, 2, 0, 3).unbind(0)
    share = rg.softmax(q @ k.transpose(-2, -1) / (WIDTH / HEADS) ** 0.5, dim=-1)
    return F.linear((share @ v).transpose(0, 1).reshape(LENGTH, WIDTH), layer["out"])


@rg.scope("feed_forward")
def feed_forward(x, layer):
    """Every token for itself: wider, bent, and back."""
    return F.linear(F.gelu(F.linear(x, layer["up"])), layer["down"])


def build():
    """The loss of guessing a token at every place."""
    with rg.scope("embed"):
        x = F.embedding(tokens, embedding)
    for number, layer in enumerate(layers):
        with rg.scope(f"encoder/layer/{number}"):
            x = x + attention(F.layer_norm(x, (WIDTH,), layer["scale_1"]), layer)
            x = x + feed_forward(F.layer_norm(x, (WIDTH,), layer["scale_2"]), layer)
    return F.cross_entropy(F.linear(x, head), targets)


if __name__ == "__main__":
    loss = build()
    loss.backward()
    print(f"loss {loss.item():.4f}")
