"""The fast backward: nodes in decreasing order of creation, gradients on the nodes, no dependency counts.

A node's consumers are always newer than the node, so that taking the newest node first is a valid order.  It is not
the order of ``execute.GraphTask`` in every detail (leaves come last), which nobody can see as long as no code of the
user runs; ``possible`` says when that is so.  One sweep at a time: gradients wait in a slot of the node.
"""

from __future__ import annotations

import threading
from heapq import heappop, heappush
from typing import Any

import numpy as np

from . import observe, state, storage, watchers
from .base import tensor_class
from .fit import fit_one
from .node import GraphNode, Port
from .opnode import OpNode
from .saved import SavedTensor

_busy = threading.Lock()
_ndarray = np.ndarray


def possible() -> bool:
    """Whether nothing is on that could tell a sweep from a full run."""
    return not (watchers.LIVE or observe.observers or state.ANOMALY or state.FORWARD_LEVELS)


class Sweep:
    """One run; also the task that nodes see."""

    create_graph = False
    tensors = False
    restricted = False

    def __init__(self, keep_graph: bool) -> None:
        self.keep_graph = keep_graph
        self.heap: list[tuple[int, GraphNode]] = []
        self.leaves: dict[Any, Any] = {}
        """Accumulator -> gradient so far, in the order of their last arrival."""

    def wants(self, edge: Any) -> bool:
        """Everything is wanted."""
        return True

    def deliver(self, edge: Any, g: Any) -> None:
        """Add a gradient to a node's input and queue the node on its first arrival."""
        if edge.__class__ is Port:
            self._deliver_to_port(edge.node, edge.nr, g)
            return
        if edge.accumulates:
            have = self.leaves.pop(edge, None)
            self.leaves[edge] = g if have is None else have if g is None else have + g
            return
        have = edge._pending
        if have is None:
            edge._pending = (g,)
            heappush(self.heap, (-edge._number, edge))
        elif g is not None:
            edge._pending = (g if have[0] is None else have[0] + g,)

    def _deliver_to_port(self, node: Any, nr: int, g: Any) -> None:
        if node._pending is None:
            node._pending = [None] * len(node._sigs)
            heappush(self.heap, (-node._number, node))
        if g is not None:
            have = node._pending[nr]
            node._pending[nr] = g if have is None else have + g

    def run(self) -> None:
        """Run until no gradient waits, then fill the leaves."""
        heap, keep = self.heap, self.keep_graph
        while heap:
            node: Any = heappop(heap)[1]
            grads = node._pending
            node._pending = None
            runner = _runners.get(node.__class__)
            if runner is None:
                runner = _runners[node.__class__] = _runner_for(node.__class__)
            try:
                results = runner(node, grads, self)
            except BaseException:
                node._pending = grads
                heappush(heap, (-node._number, node))  # unfinished: what waits below it is not complete
                raise
            if not keep:
                node._release()
            for i, edge in enumerate(node._edges):
                if edge is not None:
                    self._pass_on(node, i, results[i], edge)
            results = grads = None

    def _pass_on(self, node: Any, i: int, g: Any, edge: Any) -> None:
        """Deliver one result, made to fit where it goes."""
        target, nr = (edge.node, edge.nr) if edge.__class__ is Port else (edge, 0)
        sig = target._sigs[nr]
        fits = g.__class__ is _ndarray and sig is not None and g.dtype is sig.numpy and g.shape == sig.shape
        if g is not None and sig is not None and (not fits or target.accumulates):
            g = fit_one(node, i, g, target, sig)
        self.deliver(edge, g)

    def fill_leaves(self) -> None:
        """Accumulate, in the order in which the leaves became complete."""
        leaves = self.leaves
        while leaves:
            accumulator = next(iter(leaves))
            accumulator._run([leaves.pop(accumulator)], self)

    def clean_up(self) -> None:
        """After an error: leaves that are complete are filled, everything else is forgotten."""
        incomplete = _reachable([node for _, node in self.heap])
        for _, node in self.heap:
            node._pending = None
        self.heap.clear()
        for accumulator in list(self.leaves):
            if accumulator in incomplete:
                del self.leaves[accumulator]
        self.fill_leaves()


def sweep(roots: list[Any], grads: list[Any], keep_graph: bool) -> bool:
    """Run a backward over root edges with arrays; ``False`` when another sweep is going on (in any thread)."""
    if not _busy.acquire(blocking=False):
        return False
    task = Sweep(keep_graph)
    try:
        with np.errstate(all="ignore"):
            for edge, g in zip(roots, grads, strict=True):
                task.deliver(edge, g)
            try:
                task.run()
            except BaseException:
                task.clean_up()
                raise
            task.fill_leaves()
    finally:
        _busy.release()
    return True


def _reachable(nodes: list[Any]) -> set[Any]:
    seen = set(nodes)
    stack = list(nodes)
    while stack:
        for edge in stack.pop()._edges:
            if edge is not None:
                target = edge.node if edge.__class__ is Port else edge
                if target not in seen:
                    seen.add(target)
                    stack.append(target)
    return seen


# -- how a node of each class is run


_runners: dict[type[Any], Any] = {}


def _runner_for(cls: type[Any]) -> Any:
    op = getattr(cls, "op", None) if issubclass(cls, OpNode) else None
    if op is None or op.outputs != 1 or op.joint is not None or op.lists:
        return _run_generally
    return _runner_of_rules(op)


def _run_generally(node: Any, grads: Any, task: Sweep) -> Any:
    return node._run(list(grads), task)


def _runner_of_rules(op: Any) -> Any:
    """One rule per edge, called with saved values that need no unpacking beyond ``tensor -> array``."""
    rules = tuple([(op.rules[name], op.rule_args[name]) for name in op.diff_names])
    count = len(rules)
    tensor = tensor_class()

    def run(node: Any, grads: Any, task: Sweep) -> Any:
        saved, g = node.saved, grads[0]
        if g is None or saved is None or storage.LAST_WRITE > node._number:
            return node._run([g], task)
        values = [v._array if v.__class__ is tensor else v for v in saved]
        for v in saved:
            if v.__class__ is SavedTensor:
                return node._run([g], task)
        if count == 1:
            rule, places = rules[0]
            return (rule(g, *[values[p] for p in places]),)
        edges = node._edges
        return [
            rule(g, *[values[p] for p in places]) if edges[i] is not None else None
            for i, (rule, places) in enumerate(rules)
        ]

    return run
