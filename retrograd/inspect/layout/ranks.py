"""Assigns nodes to layers: each is one layer below its deepest predecessor; the loss is on top."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .net import Net

_ENDLESS = 1 << 30
"""Height of a port at the bottom: what leads to it continues outside."""
_TWIG = 3
"""Longest path below a node that may count as a twig."""


class Adjacency:
    """Neighbours of every vertex in compressed rows: two flat lists instead of a list per vertex."""

    __slots__ = ("items", "links", "starts")

    def __init__(self, count: int, sources: Sequence[int], targets: Sequence[int]) -> None:
        keys = np.asarray(sources, dtype=np.int64)
        order = np.argsort(keys, kind="stable")
        degrees = np.bincount(keys, minlength=count)
        self.starts: list[int] = np.concatenate(([0], np.cumsum(degrees))).astype(np.int64).tolist()
        self.items: list[int] = np.asarray(targets, dtype=np.int64)[order].tolist()
        self.links = order
        """The number of the link to every item, as the links were given."""

    def of(self, vertex: int) -> list[int]:
        """Return the neighbours of ``vertex`` in the order in which their links were given."""
        return self.items[self.starts[vertex] : self.starts[vertex + 1]]


def longest_path_ranks(count: int, sources: Sequence[int], targets: Sequence[int]) -> list[int]:
    """Return the layer of every node, 0 for nodes without predecessor.

    A backward graph has no cycle, but a recording may come from anywhere: when only cycles are left the lowest
    node is taken as it stands, and the edges that then run upward (target not below source) remain as they are.
    """
    below = Adjacency(count, sources, targets)
    waiting: list[int] = np.bincount(np.asarray(targets, dtype=np.int64), minlength=count).tolist()
    ranks = [0] * count
    done = bytearray(count)
    ready = [node for node in range(count) if waiting[node] == 0]
    lowest = 0
    while True:
        _settle(ready, below, waiting, ranks, done)
        while lowest < count and done[lowest]:
            lowest += 1
        if lowest == count:
            return ranks
        ready = [lowest]


def _settle(ready: list[int], below: Adjacency, waiting: list[int], ranks: list[int], done: bytearray) -> None:
    """Fix the layers of the ``ready`` nodes and of all that then have no predecessor left (changes its arguments)."""
    starts, items = below.starts, below.items
    while ready:
        node = ready.pop()
        done[node] = 1
        next_rank = ranks[node] + 1
        for target in items[starts[node] : starts[node + 1]]:
            if done[target]:
                continue
            if ranks[target] < next_rank:
                ranks[target] = next_rank
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)


def net_ranks(net: Net) -> list[int]:
    """Return the layer of every node: ports above and below all others, beginnings right above what they lead to."""
    if not (net.tops or net.bottoms):
        return _lowered(longest_path_ranks(len(net), net.edge_source, net.edge_target), net)
    nodes = net.first_top
    inner = [pair for pair in zip(net.edge_source, net.edge_target, strict=True) if pair[0] < nodes > pair[1]]
    ranks = longest_path_ranks(nodes, [source for source, _ in inner], [target for _, target in inner])
    shift = 1 if net.tops else 0
    lowest = max(ranks, default=-1) + 1 + shift
    return _lowered([rank + shift for rank in ranks] + [0] * net.tops + [lowest] * net.bottoms, net)


def _lowered(ranks: list[int], net: Net) -> list[int]:
    """Lower inputs, and chains that begin with one, to right above the node where they join others (changes ranks)."""
    above = Adjacency(len(net), net.edge_target, net.edge_source)
    below = Adjacency(len(net), net.edge_source, net.edge_target)
    begins = bytearray(len(net))
    downward = np.argsort(ranks[: net.first_top], kind="stable").tolist()
    for node in downward:
        before = above.of(node)
        begins[node] = not before or (len(before) == 1 and begins[before[0]] and len(below.of(before[0])) == 1)
    for node in reversed(downward):
        if begins[node] and (after := below.of(node)):
            ranks[node] = max(ranks[node], min(ranks[target] for target in after) - 1)
    return ranks


def light_nodes(net: Net, ranks: list[int]) -> bytearray:
    """Return which nodes should give way to others: leaves, and short twigs beside a much longer branch.

    A weight behind its transpose then hangs beside the trunk of a network instead of pushing it aside, while
    branches of similar length stay symmetrical.
    """
    count = len(net)
    heights, tallest = _heights(net, ranks)
    light = bytearray(1 if height <= _TWIG else 0 for height in heights)
    rooted = bytearray(count)
    for source, target in zip(net.edge_source, net.edge_target, strict=True):
        rooted[target] = 1
        if heights[target] and tallest[source] < 2 * heights[target] + 4:
            light[target] = 0
    for node in range(count):
        if not rooted[node] and heights[node]:
            light[node] = 0
    return light


def _heights(net: Net, ranks: list[int]) -> tuple[list[int], list[int]]:
    """Return per node the length of the longest path below it, and the height of the highest node right below it."""
    heights, tallest = [0] * len(net), [0] * len(net)
    heights[net.first_bottom :] = [_ENDLESS] * net.bottoms
    upward = np.argsort(np.asarray(ranks)[np.asarray(net.edge_source, dtype=np.int64)], kind="stable")[::-1]
    for edge in upward.tolist():
        source, height = net.edge_source[edge], heights[net.edge_target[edge]]
        tallest[source] = max(tallest[source], height)
        heights[source] = max(heights[source], height + 1)
    return heights, tallest
