"""The sweep's step for nodes of any kind, and ``Run``, which queues many receivers of one node as one entry."""

from __future__ import annotations

from functools import partial
from heapq import heappush
from operator import attrgetter
from time import perf_counter_ns as now
from typing import Any

import numpy as np

from .. import observe
from ..nodes.node import NOTHING, GraphNode, Port
from .fit import fit_one, fit_results

Heap = list[tuple[float, Any]]


def run_general(node: Any, heap: Heap, task: Any) -> None:
    """Run a node of any kind; saved values are checked and unpacked as in a full run."""
    g, node._pending = node._pending, None
    grads = g if len(node._sigs) > 1 else [None if g is NOTHING else g]
    passed: list[Any] | None = [] if observe.HEAR_SWEEPS else None
    began = 0 if passed is None else now()
    results = node._run(grads, task)
    if task.tensors:  # all are made to fit before the first is added to another, as the order of nodes shows
        results = [NOTHING if g is None else g for g in fit_results(node, results, True)]
    if task.frees:
        node._release()
    if not task.tensors:
        results = _fitting(node, results)
    if passed is not None:
        passed += [g for edge, g in zip(node._edges, results, strict=False) if edge is not None and g is not NOTHING]
    first: list[Any] = []
    for edge, g in zip(node._edges, results, strict=False):
        if edge is None:
            continue
        if edge._pending is None:
            edge._pending = g
            (task.leaves if edge.accumulates else first).append(edge)
        elif g is not NOTHING:
            edge._pending = edge._pending + g
    queue(first, heap)
    if passed is not None:
        observe.notify("swept", node, grads, passed, began, now())


def _fitting(node: Any, results: Any) -> Any:
    """The arrays that a node passes on along its edges, made to fit."""
    edges = node._edges
    if node.results_alike and edges[0] is not None and _fits(results[0], edges[0]):
        expected = edges[0]._sigs
        if not [edge for edge in edges if edge is not None and edge._sigs is not expected]:
            return results  # without a look at each: 0.2 µs less for each of 10,000
    return [
        g if edge is None or _fits(g, edge) else fit_one(node, i, g, edge)
        for i, (edge, g) in enumerate(zip(edges, results, strict=False))
    ]


def _fits(g: Any, edge: Any) -> bool:
    """Whether an array has shape and dtype of its receiver, which asks for no others."""
    sig = edge._sigs[0]
    if g.__class__ is not np.ndarray or sig is None:
        return False
    return g.dtype is sig.numpy and g.shape == sig.shape and edge._sigs is sig.alone


def queue(first: list[Any], heap: Heap) -> None:
    """Put receivers on the heap: one by one, or many as one run."""
    if len(first) > 8:
        run = Run(first)
        heappush(heap, (-run._number, run))
        return
    for edge in reversed(first):  # newest last: the heap takes rising keys in one step each
        heappush(heap, (-edge._number, edge))


class Run:
    """Receivers that one node reached, in order, as one entry of the heap; it runs by letting its members run.

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

    def _sweep(self, heap: Heap, task: Any) -> Any:
        """Let the newest run, and the next ones unless something newer waits: 0.3 µs less than through the heap."""
        members = self.members
        while True:
            found = members[-1]._sweep(heap, task)
            del members[-1]  # only now: one that fails is among those of which ``Sweep.clean_up`` forgets everything
            if not members:
                return found
            number = members[-1]._number
            if found is not None or (heap and heap[0][0] < -number):
                self._number = number
                heappush(heap, (-number, self))
                return found

    def _sweep_observed(self, heap: Heap, task: Any) -> Any:
        """Hand out the newest."""
        members = self.members
        newest = members.pop()
        if members:
            self._number = number = members[-1]._number
            heappush(heap, (-number, self))
        return newest

    _sweep_tensors = _sweep_observed


_number_of = attrgetter("_number")


GraphNode._sweep = GraphNode._sweep_observed = GraphNode._sweep_tensors = run_general


def step_of(node: Any, way: str) -> Any:
    """The function that runs a node whose generated method may not be used now."""
    own = node.accumulates or node.__class__ is Port or node.__class__ is Run
    return getattr(node, way) if own else partial(run_general, node)
