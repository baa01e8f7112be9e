"""What nodes keep is summed up by row and memory as counting by hand does, and shared by equal graphs."""

from __future__ import annotations

import random

from retrograd.inspect.graphs.graph import Graph
from retrograd.inspect.sources.torch_.calls.saved_sizes import SavedSizes


def graph(seq: list[int | None], first: int) -> Graph:
    """Return a graph of nodes with these numbers."""
    size = len(seq)
    return Graph(op=["X"] * size, kind=["op"] * size, seq=seq, first_seq=first, saved_bytes=[None] * size)


def by_hand(made: Graph, noted: list[tuple[int, int, int]]) -> tuple[list[int | None], list[float | None]]:
    """Return bytes by row, and of each memory only at the node made first."""
    sizes, once = list[int | None](), dict[int, float]()
    for number in made.seq:
        kept = {memory: size for node, memory, size in noted if number is not None and node - made.first_seq == number}
        sizes.append(sum(kept.values()) if kept else None)
    counted: set[int] = set()
    for number in sorted(number for number in made.seq if number is not None):
        kept = {memory: size for node, memory, size in noted if node - made.first_seq == number}
        if kept:
            once[number] = float(sum(size for memory, size in kept.items() if memory not in counted))
            counted |= kept.keys()
    return sizes, [None if number is None else once.get(number) for number in made.seq]


def test_bytes_by_row_and_memory() -> None:
    """Random graphs among nodes of others: leaves without numbers, memories kept twice, nodes that keep nothing."""
    drawn = random.Random(0)
    for _ in range(50):
        noted = [(drawn.randrange(40), drawn.randrange(-3, 9), drawn.randrange(1, 99)) for _ in range(30)]
        numbers: list[int | None] = [*drawn.sample(range(20), 12), None, None]
        drawn.shuffle(numbers)
        sizes, made = SavedSizes(), graph(numbers, 10)
        sizes.fresh += [entry for row in noted for entry in row]
        sizes.fill(made)
        assert (made.saved_bytes, made.measures.get("saved_bytes", [None] * 14)) == by_hand(made, noted)


def test_equal_graphs_share_columns_and_old_nodes_are_forgotten() -> None:
    """A step like the one before gets the same lists; another one does not, and rows stay few over many steps."""
    sizes, seq, none = SavedSizes(), [1, 0, None], [None, None, None]
    found = []
    for step in range(12_000):
        sizes.fresh += [2 * step, 7, 8, 2 * step + 1, 7, 8, 2 * step + 1, 100 + step, 4 if step < 11_999 else 5]
        made = graph(seq, 2 * step)
        made.saved_bytes = none
        sizes.fill(made)
        found.append(made)

    assert found[5].saved_bytes is found[6].saved_bytes
    assert found[5].measures["saved_bytes"] == [4.0, 8.0, None]
    assert found[-1].saved_bytes == [13, 8, None]
    assert sum(len(one.rows) for one in sizes._known) < 26_000
