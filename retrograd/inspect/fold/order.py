"""The order in which backward reaches the operators of a graph: latest executed first."""

from __future__ import annotations

import heapq

import numpy as np

from ..snapshot import GraphSnapshot


def execution_order(snapshot: GraphSnapshot, wanted: list[int]) -> list[int]:
    """Return the ``wanted`` nodes, each before all that its gradient flows to.

    Sequence numbers say the order in which operators ran; where they contradict the edges (several threads, files
    from elsewhere) or are missing, they only decide between nodes that the edges leave free.
    """
    keys = _keys(snapshot)
    if _agrees(snapshot, keys, wanted):
        numbers = np.asarray(wanted, dtype=np.int64)
        order: list[int] = numbers[np.argsort(-keys[numbers], kind="stable")].tolist()
        return order
    return _sorted_by_edges(snapshot, (-keys).tolist(), wanted)


def _keys(snapshot: GraphSnapshot) -> np.ndarray:
    """Return a number per node that is larger for what ran later; an unknown one is after all known."""
    known = [-1 if number is None else number for number in snapshot.seq]
    return np.asarray(known, dtype=np.int64) if known else np.zeros(0, dtype=np.int64)


def _agrees(snapshot: GraphSnapshot, keys: np.ndarray, wanted: list[int]) -> bool:
    """Whether every edge between wanted nodes runs from a higher to a lower number."""
    is_wanted = np.zeros(len(snapshot), dtype=bool)
    is_wanted[np.asarray(wanted, dtype=np.int64)] = True
    sources = np.asarray(snapshot.edge_source, dtype=np.int64)
    targets = np.asarray(snapshot.edge_target, dtype=np.int64)
    inner = is_wanted[sources] & is_wanted[targets]
    return bool(np.all(keys[sources[inner]] > keys[targets[inner]]))


def _sorted_by_edges(snapshot: GraphSnapshot, ranks: list[int], wanted: list[int]) -> list[int]:
    """Sort topologically, lowest rank first among the free; in a cycle the lowest node left is taken."""
    below, waiting = _links_among(snapshot, wanted)
    free = [(ranks[node], node) for node in wanted if not waiting[node]]
    heapq.heapify(free)
    placed = bytearray(len(snapshot))
    order: list[int] = []
    leftover = iter(wanted)
    while len(order) < len(wanted):
        if not free:  # whatever is left stands in a cycle, or behind one
            heapq.heappush(free, next((0, node) for node in leftover if not placed[node]))
        _, node = heapq.heappop(free)
        if placed[node]:
            continue
        placed[node] = 1
        order.append(node)
        for target in below.get(node, ()):
            waiting[target] -= 1
            if not waiting[target] and not placed[target]:
                heapq.heappush(free, (ranks[target], target))
    return order


def _links_among(snapshot: GraphSnapshot, wanted: list[int]) -> tuple[dict[int, list[int]], list[int]]:
    """Return the edges between wanted nodes: targets by source, and per node how many lead to it."""
    is_wanted = bytearray(len(snapshot))
    for node in wanted:
        is_wanted[node] = 1
    below: dict[int, list[int]] = {}
    waiting = [0] * len(snapshot)
    for source, target in zip(snapshot.edge_source, snapshot.edge_target, strict=True):
        if is_wanted[source] and is_wanted[target] and source != target:
            below.setdefault(source, []).append(target)
            waiting[target] += 1
    return below, waiting
