"""What each tensor of a recording depends on, looked up in one table for all of them."""

from __future__ import annotations

import random

from retrograd.inspect.diagnose.dependence import _Since


def test_bits_come_together_over_rows() -> None:
    """Before a row a number has the bits of all earlier rows, as adding them up anew each time says."""
    draw = random.Random(3)
    table, added = _Since(), []
    for row in sorted(draw.sample(range(100), 40)):
        number, bits = draw.randrange(4), draw.choice([0, 1, 2, 3, 4])
        table.add(number, row, bits)
        added.append((number, row, bits))
    for number in range(5):
        for before in range(101):
            expected = 0
            for one, row, bits in added:
                expected |= bits if one == number and row < before else 0
            assert table.before(number, before) == expected
