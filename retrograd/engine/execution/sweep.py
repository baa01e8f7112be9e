"""The sweep: a fast backward pass that runs nodes newest first and stores gradients on them, without counting edges.

A node's consumers are always newer than the node, so running the newest node first is a valid order.  It differs from
the order of ``graph_task.GraphTask`` in details (leaves come last) that only code of the user could observe;
``possible`` says whether any can run.  There is one sweep at a time, because gradients wait in a slot of the node.
Where gradients are tensors (a graph is created), nodes run by ``_sweep_tensors``; under observers that hear of sweeps,
by ``_sweep_observed``, which does the same and notifies them.

``node._sweep(heap, task)`` consumes the node's gradient, adds the results to what waits at the receivers, queues
those on ``heap`` that are reached for the first time, and returns one of them instead of queueing it: if that is the
newest of all, it runs next without passing through the heap (60 ns less).
"""

from __future__ import annotations

from heapq import heappop, heappush, heappushpop
from math import inf
from typing import Any

import numpy as np

from ...locks import lock
from .. import observe
from ..aliasing import storage
from ..core.base import LAZY
from ..nodes.node import NOTHING, Port, edge_parts
from ..overriding import overrides
from ..switches import state, watchers
from ..switches.quiet import QUIET, quietly, reset_quiet, set_quiet
from .general_sweep import Heap, Run, step_of

_busy = lock()


def possible() -> bool:
    """Whether nothing is on that could distinguish a sweep from a full run."""
    return not (watchers.LIVE or observe.HEAR_NODES or state.ANOMALY or state.FORWARD_LEVELS or state.DISPATCH_MODES)


class Sweep:
    """One run; also the task that nodes see."""

    restricted = create_graph = tensors = False

    seen: Any = None
    """What the program has seen of the run's arrays: the gradients that it gave."""

    def __init__(self, keep_graph: bool, create_graph: bool = False, seen: Any = None) -> None:
        if seen is not None:
            self.seen = seen
        self.keep_graph = keep_graph
        self.frees = not keep_graph
        if create_graph:
            self.create_graph = self.tensors = True
        self.heap: Heap = []
        self.leaves: list[Any] = []
        """Accumulators that a gradient has reached."""

    def wants(self, edge: Any) -> bool:
        """Everything is wanted."""
        return True

    def run(self) -> None:
        """Run what waits on the heap until gradients wait at leaves only; after an error, clean up."""
        if observe.HEAR_SWEEPS or self.tensors:
            self._run_by("_sweep_tensors" if self.tensors else "_sweep_observed")
            return
        heap = self.heap
        node = None
        try:
            node = heappop(heap)[1]
            while True:
                node = node._sweep(heap, self)
                if node is None:
                    if not heap:
                        return
                    node = heappop(heap)[1]
                elif heap:
                    node = heappushpop(heap, (-node._number, node))[1]
        except BaseException:
            self.clean_up(node)
            raise

    def _run_by(self, way: str) -> None:
        """The same with another method of the nodes, for observers or where gradients are tensors."""
        heap = self.heap
        last = inf if self.tensors and overrides.INSTALLED else storage.LAST_WRITE
        node = g = None  # a signal's handler may raise before the first node is chosen
        try:
            while node is not None or heap:
                node = heappop(heap)[1] if node is None else heappushpop(heap, (-node._number, node))[1]
                g = node._pending
                slow = g is NOTHING or node._number < last
                node = (step_of(node, way) if slow else getattr(node, way))(heap, self)
        except BaseException:
            if observe.HEAR_SWEEPS and node is not None:
                observe.notify("sweep_failed", node, g if g.__class__ is list else [None if g is NOTHING else g])
            self.clean_up(node)
            raise

    def start(self, roots: list[Any], grads: list[Any]) -> None:
        """Run from the root edges with their gradients."""
        for edge, g in zip(roots, grads, strict=True):
            arriving = NOTHING if g is None else g
            if edge._pending is None:
                edge._pending = arriving
                heappush(self.heap, (-edge._number, edge))
            else:
                edge._pending = edge._pending + arriving
        self.run()
        self.fill_leaves()

    def fill_leaves(self) -> None:
        """Accumulate in the leaves what waits there; not within ``run``, which would hold the last gradient, too."""
        if self.leaves:
            self.leaves[0].fill(self.leaves, self)

    def clean_up(self, failed: Any) -> None:
        """After an error in a node: leaves that are complete are filled, everything else is forgotten."""
        entries = [*[entry for _, entry in self.heap], *([] if failed is None else [failed])]
        waiting = [n for entry in entries for n in (entry.members if entry.__class__ is Run else (entry,))]
        incomplete = _reachable([node for node in waiting if not node.accumulates])
        leaves = list(dict.fromkeys([*self.leaves, *waiting]))
        complete = [n for n in leaves if n.accumulates and n not in incomplete]
        for node in (*leaves, *incomplete):
            if node not in complete:
                node._pending = None
        self.heap.clear()
        self.leaves = complete
        self.fill_leaves()


def sweep(task: Sweep, roots: list[Any], grads: list[Any]) -> bool:
    """Run a backward over root edges; ``False`` when another sweep is going on (in any thread).

    ``grads`` are arrays, or tensors where the run creates a graph; then grad mode is on, whatever it was.
    """
    if not _busy.acquire(blocking=False):
        return False
    outside = state.STATE.grad_enabled
    try:
        if task.create_graph:
            state.set_grad_enabled_here(True)
        quietly(task.start, (roots, grads))
    finally:
        if task.create_graph:
            state.set_grad_enabled_here(outside)
        _busy.release()
    return True


def sweep_loss(t: Any, keep_graph: bool) -> bool:
    """Run backward from a real scalar that a node computed; ``False``: nothing was done, take the general path.

    What ``loss.backward()`` needs of ``_backward``, ``run_backward``, ``sweep`` and ``Sweep.start``, in one function:
    12 calls less, 20 µs after large arrays.
    """
    fn, sig = t._fn, t._sig
    number = fn is not None and fn is not LAZY and not sig.shape and sig.floats is not None
    special = watchers.LIVE or (state.MODE and not possible())  # whatever ``possible`` asks for is counted in the mode
    if not number or special or QUIET is None or not _busy.acquire(False):
        return False
    watched = bool(observe.observers)
    token = set_quiet(QUIET)
    try:
        if watched:
            observe.notify("backward_began", [edge_parts(fn)])
        task = Sweep(keep_graph)
        fn._pending = np.array(1, sig.numpy)
        task.heap.append((-fn._number, fn))
        task.run()
        task.fill_leaves()
    except BaseException as error:
        if watched:
            observe.notify("backward_ended", error)
        raise
    finally:
        reset_quiet(token)
        _busy.release()
    if watched:
        observe.notify("backward_ended", None)
    return True


class _Capturing(Sweep):
    """A sweep that returns the gradients of leaves instead of accumulating them."""

    def fill_leaves(self) -> None:
        """Keep what waits at the leaves, by leaf."""
        self.captured: dict[Any, Any] = {}
        for leaf in self.leaves:
            waiting, leaf._pending = leaf._pending, None
            self.captured[leaf] = None if waiting is NOTHING else waiting


def capture(
    roots: list[Any], grads: list[Any], keep_graph: bool, create_graph: bool, wanted: list[Any]
) -> list[Any] | None:
    """The gradients of leaves; ``None`` where a sweep would run more than was asked for, or another one is running."""
    for edge in wanted:
        if not edge.accumulates:
            return None
    if not _leads_only_to(roots, wanted):
        return None
    task = _Capturing(keep_graph, create_graph)
    if not sweep(task, roots, grads):
        return None
    return [task.captured.get(edge) for edge in wanted]


def sweep_within(roots: list[Any], grads: list[Any], leaves: list[Any]) -> list[Any]:
    """The gradients of the leaves of a graph of which only its maker knows, by arrays: also within another sweep."""
    task = _Capturing(keep_graph=False)
    quietly(task.start, (roots, grads))
    return [task.captured.get(leaf) for leaf in leaves]


def _leads_only_to(roots: list[Any], wanted: list[Any]) -> bool:
    """Whether every path from the roots ends at a wanted leaf."""
    seen = {None, *roots, *wanted}
    found = [edge for edge in roots if edge not in wanted]
    for node in found:  # which grows meanwhile
        edges = (node.node,) if node.__class__ is Port else node._edges
        if edges.count(None) == len(edges):
            return False
        for edge in edges:
            if edge not in seen:
                seen.add(edge)
                found.append(edge)
    return True


def _reachable(nodes: list[Any]) -> dict[Any, None]:
    """Nodes and ports that these lead to, with themselves."""
    seen = dict.fromkeys(nodes)
    stack = list(nodes)
    while stack:
        node = stack.pop()
        for edge in (node.node,) if node.__class__ is Port else node._edges:
            if edge is not None and edge not in seen:
                seen[edge] = None
                stack.append(edge)
    return seen
