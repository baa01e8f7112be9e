"""Memory layout for copies of the gradients of one graph: equal dtype and length are rows of one matrix.

One call of NumPy then computes a statistic of many gradients.  Which gradients to expect is known from the snapshot.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from ....graphs.graph import Graph
from ...base import Node
from ...passing import LatestPassings, Passing, latest_first
from .products import PRODUCTS, Product

_LONGEST = 1 << 14
"""Entries of the longest gradients that are copied: for longer ones the copy costs as much as it saves."""
_GROUP_BYTES = 1 << 22
"""Most memory of one group; further gradients of its length reuse the places of earlier ones."""
_BYTES = 1 << 25
"""Most memory of all groups; other gradients are computed when they arrive."""
_ALIGNED = 64
_DTYPES = {name: np.dtype(name) for name in ("float32", "float64")}

Sort = tuple[str, int]
"""Dtype and length of a gradient."""


class Place(NamedTuple):
    """The place to which one gradient is copied, and its expected type."""

    offset: int
    size: int
    """In bytes, as the offset."""
    slot: int
    """Number within its group."""
    group: int
    length: int
    dtype: np.dtype[Any]
    product: Product
    """Multiplies vectors of that dtype."""


Way = Place | None | Literal[False]
"""The place that a gradient is copied to; None: it is measured in the general way, False: not at all."""


class Group(NamedTuple):
    """Memory for gradients of one dtype and length."""

    dtype: np.dtype[Any]
    length: int
    begin: int
    end: int


class Layout:
    """Places by key, and the groups they belong to."""

    def __init__(self, expected: Iterable[tuple[int, Sort]]) -> None:
        """``expected``: the key of each gradient with its dtype and length."""
        expected = list(expected)
        self.places: dict[int, Place] = {}
        self.groups: list[Group] = []
        self.size = 0
        """Bytes of all groups."""
        numbers = {sort: self._group(*sort, count) for sort, count in Counter(sort for _, sort in expected).items()}
        used: Counter[int] = Counter()
        for key, sort in expected:
            number = numbers[sort]
            if number is not None:
                self.places[key] = self._place(number, used[number])
                used[number] += 1

    def _group(self, name: str, length: int, count: int) -> int | None:
        """Reserve memory for gradients of one dtype and length, and return its number; None if there is none."""
        each = length * _DTYPES[name].itemsize
        size = each * min(count, max(1, _GROUP_BYTES // each))
        if self.size + size > _BYTES:
            return None
        self.groups.append(Group(_DTYPES[name], length, self.size, self.size + size))
        self.size += -(-size // _ALIGNED) * _ALIGNED
        return len(self.groups) - 1

    def _place(self, number: int, used: int) -> Place:
        """Return the place of the next gradient of a group."""
        group = self.groups[number]
        each = group.length * group.dtype.itemsize
        slot = used % ((group.end - group.begin) // each)
        product = PRODUCTS[group.dtype.name]
        return Place(group.begin + slot * each, each, slot, number, group.length, group.dtype, product)


class Looking(NamedTuple):
    """What is measured in one graph, and where it is copied to."""

    known: Passing
    layout: Layout
    """Its keys are nodes, and beyond those edges."""
    ways: list[Way]
    """For each node how its incoming gradient is measured."""
    measured_by: list[int]
    """As in ``Passing``."""
    hooked: list[int]
    """Nodes with hooks, other than leaves."""
    followers: dict[int, list[int]]
    """Node with a hook -> the leaves that run right after it, as in ``Passing``."""


def _looking(known: Passing, snapshot: Graph) -> Looking:
    """Return the places for a graph."""
    layout = Layout(_expected(known, snapshot))
    measured_by = known.measured_by.tolist()
    ways: list[Way] = [layout.places.get(row) if source == row else False for row, source in enumerate(measured_by)]
    hooked = [row for row, kind in enumerate(snapshot.kind) if kind != "leaf" and row not in known.quiet]
    followers: dict[int, list[int]] = {}
    for leaf, row in known.following.items():
        followers.setdefault(row, []).append(leaf)
    return Looking(known, layout, ways, measured_by, hooked, followers)


def _expected(known: Passing, snapshot: Graph) -> Iterator[tuple[int, Sort]]:
    """Yield the key of each gradient to be measured, with dtype and length, if those are known and ordinary."""
    dtype = snapshot.dtype
    for row, length in enumerate(known.entries):
        if 0 < length <= _LONGEST and dtype[row] in _DTYPES:
            yield row, (str(dtype[row]), length)
    for results in known.looked_at.values():
        for _, edge in results:
            row = snapshot.edge_target[edge]
            length = math.prod(snapshot.shape[row] or ())
            if not snapshot.edge_output_nr[edge] and 0 < length <= _LONGEST and dtype[row] in _DTYPES:
                yield len(snapshot) + edge, (str(dtype[row]), length)


class Latest:
    """Caches what is measured in the latest graphs."""

    def __init__(self) -> None:
        self._passings = LatestPassings()
        self._looking: list[Looking] = []
        self._kinds: list[str] = []
        """The column of which the leaves were picked last; steps alike share it."""
        self._leaves: list[int] = []

    def leaves(self, snapshot: Graph) -> list[int]:
        """Return the rows of a graph's leaves."""
        if snapshot.kind is not self._kinds:
            self._kinds = snapshot.kind
            self._leaves = [row for row, kind in enumerate(self._kinds) if kind == "leaf"]
        return self._leaves

    def read(self, order: list[Node], snapshot: Graph, loud: Collection[int]) -> Looking:
        """Return what is measured in a graph."""
        known = self._passings.read(order, snapshot, loud)
        for looking in self._looking:
            if looking.known is known:
                return looking
        looking = _looking(known, snapshot)
        self._looking = latest_first(looking, self._looking, lambda one: len(one.ways))
        return looking
