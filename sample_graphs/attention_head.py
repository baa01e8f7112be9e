"""One head of scaled dot-product self-attention over a short sentence.

What to look for: the input fans out into query, key and value, which meet again in two matrix products
with a softmax between them. The transpose of the keys is a view and copies nothing.
"""

import retrograd as rg

LENGTH, WIDTH = 5, 8

rg.manual_seed(0)
words = rg.randn(LENGTH, WIDTH)
w_query = (rg.randn(WIDTH, WIDTH) * 0.3).requires_grad_()
w_key = (rg.randn(WIDTH, WIDTH) * 0.3).requires_grad_()
w_value = (rg.randn(WIDTH, WIDTH) * 0.3).requires_grad_()
w_out = (rg.randn(WIDTH, WIDTH) * 0.3).requires_grad_()


def build():
    """The mean square of what one attention head makes of a sentence of random words."""
    query = words @ w_query
    key = words @ w_key
    value = words @ w_value
    scores = query @ key.transpose(0, 1) / WIDTH**0.5
    attention = rg.softmax(scores, dim=-1)
    out = (attention @ value) @ w_out
    return (out**2).mean()


if __name__ == "__main__":
    loss = build()
    loss.backward()
    print(f"loss {loss.item():.4f}")
