"""Writing in place through a view rewrites the history of the whole tensor.

What to look for: `row` is a view of `table`, so multiplying it in place changes `table` too. The engine
puts a CopySlices node on top of the table's history: the gradient of the first row takes the way through
the multiplication, that of the other rows goes around it.
"""

import retrograd as rg

weight = rg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)


def build():
    """The sum of a table whose first row was scaled in place through a view."""
    table = weight + 1
    row = table[0]
    row.mul_(10)
    return table.view(6).sum()


if __name__ == "__main__":
    loss = build()
    loss.backward()
    print(f"loss {loss.item():.4f}")
