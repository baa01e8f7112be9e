"""Which entries of one memory two tensors share: compared with NumPy's own views of it."""

from __future__ import annotations

import random

import numpy as np

from retrograd.inspect.recording.memory_parts import Part, contiguous, shares_entries


def _viewed(memory, draw):
    """Return a view of a memory, drawn at random, and the same as a part."""
    whole = memory.reshape(4, 6, 5)
    index = tuple(
        draw.choice([slice(None), draw.randrange(size), slice(draw.randrange(size), size, draw.choice([1, 2, 3]))])
        for size in whole.shape
    )
    part = Part(0, whole.shape, contiguous(whole.shape)).at(index)
    return whole[(*index, ...)], part


def test_parts_share_what_views_share():
    """Two parts overlap exactly where marks through one view are seen through the other."""
    draw = random.Random(3)
    outcomes = set()
    for _ in range(400):
        memory = np.zeros(120, dtype=np.int8)
        (one, its_part), (other, other_part) = _viewed(memory, draw), _viewed(memory, draw)
        one[...] = 1
        assert shares_entries(its_part, other_part) == bool(other.any())
        outcomes.add(bool(other.any()))
    assert outcomes == {True, False}


def test_columns_of_a_large_table_are_told_apart():
    """What is too large to be compared entry by entry is told apart by what its places leave over."""
    column = Part(3, (5_000_000,), (8,))
    assert not shares_entries(column, Part(0, (5_000_000, 3), (8, 1)))
    assert shares_entries(column, Part(0, (5_000_000, 4), (8, 1)))


def test_an_index_of_tensors_names_no_part():
    """Only numbers, slices, ``...`` and ``None`` say by themselves which entries they name."""
    whole = Part(0, (4, 5), (5, 1))
    assert whole.at((..., 2)) == Part(2, (4,), (5,))
    assert whole.at((None, -1)) == Part(15, (5,), (1,))
    assert whole.at(np.array([1, 2])) is None
    assert whole.at(True) is None
