"""``GraphTask``: one backward pass in dependency order, largest sequence number first.

Gradients are bare arrays, or tensors when a graph is created or tangents flow; hooks always see tensors.  No
recursion: depth is limited by memory only.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import observe
from ..calls.refusals import shapes_in, size_mismatch
from ..nodes.edges import arrived
from ..nodes.hooks import run_post_hooks, run_pre_hooks, run_tensor_hooks
from ..nodes.node import GraphNode, Port, edge_parts
from ..switches import state
from ..switches.anomaly import check_for_nan, explain_failure
from ..switches.state import STATE, set_grad_enabled_here
from .fit import fit_results
from .seen_tensors import SeenTensors

_task_ids = itertools.count().__next__


class GraphTask:
    """One backward pass: its options, dependency counts, gradient buffers and captures."""

    within_node = False
    """Whether this is how one node computes: then anomaly mode checks and explains that node, not those of the run."""

    def __init__(self, *, keep_graph: bool, create_graph: bool, tensors: bool, seen: SeenTensors) -> None:
        self.id = _task_ids()
        self.seen = seen
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.tensors = tensors
        self.restricted = False
        self.dependencies: dict[GraphNode, int] = {}
        self.buffers: dict[GraphNode, list[Any]] = {}
        self.ready: list[tuple[int, int, GraphNode]] = []
        self.arrivals = itertools.count().__next__
        self.reached: set[GraphNode] | None = None
        """With ``inputs``: nodes on a path to a requested edge; ``None`` when everything runs."""
        self.runs: set[GraphNode] = set()
        """With ``inputs``: those of them that execute (a node that is only captured does not)."""
        self.captures: dict[GraphNode, dict[int, list[int]]] = {}
        self.captured: list[Any] = []
        self.callbacks: list[Callable[[], Any]] = []
        self.running: list[GraphNode] = []
        """Running nodes of the thread that runs this task, innermost last."""

    # -- what nodes ask
    def wants(self, edge: Any) -> bool:
        """Whether the gradient along this edge is needed."""
        return self.reached is None or (edge.node if edge.__class__ is Port else edge) in self.reached

    def executes(self, node: GraphNode) -> bool:
        """Whether this run executes ``node``."""
        return self.reached is None or node in self.runs

    def use_tensors(self) -> None:
        """Continue with tensors, because a gradient has a class that bare arrays cannot represent."""
        self.tensors = True
        for buffer in self.buffers.values():
            buffer[:] = [self.seen.tensor_of(g) for g in buffer]

    # -- preparation
    def restrict(self, roots: list[Any], inputs: list[Any], capture: bool) -> None:
        """Run only what lies between the roots and the edges in ``inputs``; capture their gradients or not."""
        requested: set[GraphNode] = set()
        self.restricted = True
        self.captured = [None] * len(inputs)
        for i, edge in enumerate(inputs):
            node, nr = edge_parts(edge)
            requested.add(node)
            if capture:
                self.captures.setdefault(node, {}).setdefault(nr, []).append(i)
        self.reached = reached = set(requested)
        for node in _post_order([edge_parts(r)[0] for r in roots]):
            for edge in node._edges:
                if edge is not None and (edge.node if edge.__class__ is Port else edge) in reached:
                    reached.add(node)
                    self.runs.add(node)
                    break
        if not capture:
            self.runs |= requested

    def count_dependencies(self, roots: list[Any]) -> None:
        """Count how many gradients each node waits for."""
        counts = self.dependencies
        stack: list[GraphNode] = []
        seen: set[GraphNode] = set()
        for edge in roots:
            node = edge_parts(edge)[0]
            counts[node] = counts.get(node, 0) + 1
            if node not in seen:
                seen.add(node)
                stack.append(node)
        everything = self.reached is None
        while stack:
            node = stack.pop()
            if not everything and node not in self.runs:
                continue
            for edge in node._edges:
                if edge is None:
                    continue
                target = edge.node if edge.__class__ is Port else edge
                counts[target] = counts.get(target, 0) + 1
                if target not in seen:
                    seen.add(target)
                    stack.append(target)

    # -- running
    def run(self, roots: list[Any], grads: list[Any]) -> list[Any]:
        """Run from the root edges with their gradients; returns what was captured."""
        self.count_dependencies(roots)
        for edge, g in zip(roots, grads, strict=True):
            self.deliver(edge, g)
        outside = STATE.grad_enabled
        if not self.within_node:
            self.running = STATE.nodes
        STATE.tasks.append(self)
        try:
            set_grad_enabled_here(self.create_graph)
            with np.errstate(all="ignore"):
                while self.ready:
                    node = heapq.heappop(self.ready)[2]
                    self.run_node(node, self.buffers.pop(node))
                    del node
            for callback in self.callbacks:  # a callback may queue more
                callback()
        finally:
            set_grad_enabled_here(outside)
            STATE.tasks.pop()
        return self.captured

    def deliver(self, edge: Any, g: Any) -> None:
        """Add a gradient to a node's input; the node is queued once everything it waits for has arrived."""
        node, nr = (edge.node, edge.nr) if edge.__class__ is Port else (edge, 0)
        if self.reached is not None and node not in self.reached:
            return
        buffer = self.buffers.get(node)
        if buffer is None:
            buffer = self.buffers[node] = [None] * (len(node._sigs) or 1)
        if g is not None:
            have = buffer[nr]
            if have is None:
                buffer[nr] = g
            else:
                buffer[nr] = arrived(have, g, self.create_graph) if self.tensors else have + g
        left = self.dependencies[node] - 1
        if left:
            self.dependencies[node] = left
            return
        self.dependencies[node] = 0
        priority = node._number if node._extra is None else node._sequence_nr()
        heapq.heappush(self.ready, (-priority, self.arrivals(), node))

    def run_node(self, node: GraphNode, grads: list[Any]) -> None:
        """One node from its arrived gradients to its deliveries, with everything that watches it."""
        running = self.running
        running.append(node)
        try:
            captures, executes = self.captures.get(node), self.executes(node)
            bare = executes and captures is None and node._extra is None
            if bare and not node.accumulates and not observe.observers:
                self.run_bare_node(node, grads)
                return
            if captures is not None and executes:  # as in PyTorch, before the tensors' hooks
                self.record_captures(captures, grads)
            self.run_hooks_of_tensors(node, grads)
            if not executes:
                if captures is not None:
                    self.record_captures(captures, grads)
                return
            for edge, g in zip(node._edges, self.execute(node, grads), strict=True):
                if edge is not None:
                    self.deliver(edge, g)
        except BaseException as error:
            if not self.within_node:
                explain_failure(node)
            if error.__class__ is ValueError and "broadcast" in str(error):  # a rule on arrays of other shapes
                raise size_mismatch(shapes_in(error), error) from error
            raise
        finally:
            running.pop()

    def run_bare_node(self, node: GraphNode, grads: list[Any]) -> None:
        """The same for a node that nothing watches: no hooks, no captures, no observers."""
        results = fit_results(node, node._run(grads, self), self.tensors)
        if node._extra is not None:  # hooks registered while it ran
            results = self.run_post_hooks_of(node, results, ())
        if not self.keep_graph:
            node._release()
        if state.ANOMALY and not self.within_node:
            check_for_nan(node, results)
        for edge, g in zip(node._edges, results, strict=True):
            if edge is not None:
                self.deliver(edge, g)

    def record_captures(self, captures: dict[int, list[int]], grads: list[Any]) -> None:
        """Remember the gradient at requested inputs."""
        for nr, places in captures.items():
            for i in places:
                self.captured[i] = self.seen.tensor_of(grads[nr])

    def run_hooks_of_tensors(self, node: GraphNode, grads: list[Any]) -> None:
        """Hooks of the tensors that feed this node, then their ``retain_grad``."""
        extra = node._extra
        variable = node.variable if node.accumulates else None  # type: ignore[attr-defined]
        leaf_hooks = variable._meta.hooks if variable is not None else None
        if leaf_hooks:
            grads[0] = self.value_of(run_tensor_hooks(leaf_hooks, self.seen.tensor_of(grads[0])))
        if extra is None:
            return
        if extra.tensor_hooks is not None:
            for nr, dicts in list(extra.tensor_hooks.items()):
                for hooks in dicts:
                    if hooks and hooks is not leaf_hooks:
                        grads[nr] = self.value_of(run_tensor_hooks(hooks, self.seen.tensor_of(grads[nr])))
        if extra.retained is not None:
            for nr, ref in list(extra.retained.items()):
                _retain(ref(), self.seen.tensor_of(grads[nr]))

    def execute(self, node: GraphNode, grads: list[Any]) -> tuple[Any, ...]:
        """Pre hooks, the node itself, validation, post hooks, release, anomaly check."""
        extra = node._extra
        if extra is not None and extra.pre_hooks:
            count = node.input_count()
            seen = run_pre_hooks(extra.pre_hooks, tuple([self.seen.tensor_of(g) for g in grads[:count]]))
            grads[:count] = [self.value_of(g) for g in seen]
            extra = node._extra
        had_post_hooks = extra is not None and bool(extra.post_hooks)
        grad_outputs = tuple([self.seen.tensor_of(g) for g in grads[: node.input_count()]]) if had_post_hooks else ()
        watched = observe.observers
        if watched:
            observe.notify("node_began", node, grads)
        results = fit_results(node, node._run(grads, self), self.tensors)
        if watched:
            observe.notify("node_ended", node, grads, results)
        results = self.run_post_hooks_of(node, results, grad_outputs)
        if not self.keep_graph:
            node._release()
            if watched:
                observe.notify("released", node)
        if state.ANOMALY and not self.within_node:
            check_for_nan(node, results)
        return results

    def run_post_hooks_of(self, node: GraphNode, results: tuple[Any, ...], grad_outputs: Any) -> tuple[Any, ...]:
        """The results after the node's post hooks."""
        extra = node._extra
        if extra is None or not extra.post_hooks:
            return results
        shown = tuple([self.seen.tensor_of(g) for g in results])
        return tuple([self.value_of(g) for g in run_post_hooks(extra.post_hooks, shown, grad_outputs)])

    def value_of(self, t: Any) -> Any:
        """A hook's tensor as this task handles gradients."""
        if self.tensors or t is None:
            return t
        self.seen.add(t)
        return t._array


def _retain(t: Any, grad: Any) -> None:
    """Store a non-leaf's gradient: a clone first, later a new sum."""
    if t is None or grad is None:
        return
    meta = t.need_meta()
    meta.grad = grad.clone() if meta.grad is None else meta.grad + grad


def _post_order(roots: list[GraphNode]) -> list[GraphNode]:
    """All nodes, each after everything its edges lead to."""
    order: list[GraphNode] = []
    seen: set[GraphNode] = set()
    stack: list[tuple[GraphNode, bool]] = [(n, False) for n in roots]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
            continue
        if node in seen:
            continue
        seen.add(node)
        stack.append((node, True))
        for edge in node._edges:
            if edge is not None:
                target = edge.node if edge.__class__ is Port else edge
                if target not in seen:
                    stack.append((target, False))
    return order
