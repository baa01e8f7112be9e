"""The sweep's step for nodes of any kind, and ``Run``, which queues many receivers of one node as one entry."""

from __future__ import annotations

from heapq import heappush
from operator import attrgetter
from time import perf_counter_ns as now
from typing import Any

import numpy as np

from .. import observe
from ..nodes.node import NOTHING, GraphNode, Port
from .fit import fit_one, fit_results

Heap = list[tuple[float, Any]]


def run_general(node: Any, g: Any, heap: Heap, task: Any) -> None:
    """Run a node of any kind: what it saved is checked and unpacked as in a full run."""
    grads = g if len(node._sigs) > 1 else [None if g is NOTHING else g]
    passed: list[Any] | None = [] if observe.HEAR_SWEEPS else None
    began = 0 if passed is None else now()
    results = node._run(grads, task)
    if task.tensors:  # all are made to fit before the first is added to another, as the order of nodes shows
        results = fit_results(node, results, True)
    if task.frees:
        node._release()
    first: list[Any] = []
    for i, edge in enumerate(node._edges):
        if edge is None:
            continue
        g, sig = results[i], edge._sigs[0]
        if task.tensors:
            g = NOTHING if g is None else g
        elif (
            g.__class__ is not np.ndarray
            or sig is None
            or g.dtype is not sig.numpy
            or g.shape != sig.shape
            or edge._sigs is not sig.alone
        ):
            g = fit_one(node, i, g, edge)
        if passed is not None and g is not NOTHING:
            passed.append(g)
        if edge._pending is None:
            edge._pending = g
            (task.leaves if edge.accumulates else first).append(edge)
        elif g is not NOTHING:
            edge._pending = edge._pending + g
    queue(first, heap)
    if passed is not None:
        observe.notify("swept", node, grads, passed, began, now())


def queue(first: list[Any], heap: Heap) -> None:
    """Put receivers on the heap: one by one, or many as one run."""
    if len(first) > 8:
        run = Run(first)
        heappush(heap, (-run._number, run))
        return
    for edge in reversed(first):  # newest last: the heap takes rising keys in one step each
        heappush(heap, (-edge._number, edge))


class Run:
    """Receivers that one node reached, in order, as one entry of the heap; it runs by letting the newest one run.

    The heap stays small and there is no entry for each: 1 µs less for each of 10,000.
    """

    __slots__ = ("_number", "_pending", "members")
    accumulates = False

    def __init__(self, members: list[Any]) -> None:
        members.sort(key=_number_of)
        self.members = members
        self._number = members[-1]._number
        self._pending = None

    def __lt__(self, other: Any) -> bool:
        return False  # ports of one node, and leaves, have the same number

    def _sweep(self, g: Any, heap: Heap, task: Any) -> Any:
        members = self.members
        newest = members.pop()
        if members:
            self._number = number = members[-1]._number
            heappush(heap, (-number, self))
        return newest

    _sweep_observed = _sweep_tensors = _sweep


_number_of = attrgetter("_number")


GraphNode._sweep = GraphNode._sweep_observed = GraphNode._sweep_tensors = run_general


def run_without_fast_path(node: Any, g: Any, heap: Heap, task: Any) -> Any:
    """Run a node whose own ``_sweep`` may not be used now."""
    if node.accumulates or node.__class__ is Port or node.__class__ is Run:
        return node._sweep(g, heap, task)
    return run_general(node, g, heap, task)
