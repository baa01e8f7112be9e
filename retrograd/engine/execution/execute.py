"""``run_backward``: executes one backward pass, by a sweep where that is allowed, otherwise by a ``GraphTask``.

A backward pass started inside a node or hook is separate, and finishes before the outer one continues.
"""

from __future__ import annotations

import contextvars
import threading
from typing import Any

from .. import observe
from ..nodes.node import edge_parts
from ..switches import state, watchers
from ..switches.state import STATE
from .graph_task import GraphTask
from .seen_tensors import SeenTensors
from .sweep import Sweep, sweep
from .sweep import capture as sweep_for
from .sweep import possible as sweep_possible

_HOP_DEPTH = 12
"""Nested runs continue on a fresh thread every so many levels, so that the Python stack does not limit them."""


def run_backward(
    roots: list[Any],
    grads: list[Any],
    inputs: list[Any] | None = None,
    *,
    keep_graph: bool,
    create_graph: bool,
    capture: bool = False,
) -> list[Any]:
    """Run one task over root edges; ``grads`` are tensors (or ``None``); returns captured tensors.

    ``inputs`` are edges; with ``capture`` their gradients are returned, otherwise they accumulate.
    """
    watched = bool(observe.observers)
    hooks = tuple(STATE.saved_hooks)
    try:
        if watched:
            observe.notify("backward_began", [edge_parts(r) for r in roots])
        captured = _run(roots, grads, keep_graph, create_graph, inputs, capture)
    except BaseException as error:  # kept under no other name: with its traceback it holds this frame
        if watched:
            observe.notify("backward_ended", error)
        raise
    finally:
        if tuple(STATE.saved_hooks) != hooks:
            state.restore_saved_hooks(hooks)
    if watched:
        observe.notify("backward_ended", None)
    return captured


def _run(
    roots: list[Any], grads: list[Any], keep_graph: bool, create_graph: bool, inputs: list[Any] | None, capture: bool
) -> list[Any]:
    """Run by a sweep where that is allowed, else by a task."""
    tensors = create_graph or state.FORWARD_LEVELS > 0 or bool(STATE.dispatch_modes) or watchers.DISPATCHING > 0
    values = [g if tensors or g is None else g._array for g in grads]
    seen = SeenTensors(() if tensors else grads)
    if tensors is create_graph and sweep_possible():
        if inputs is None:
            # filling leaves is recorded as well, and a sweep does it at the end, which the order of nodes would show
            if not create_graph and sweep(Sweep(keep_graph, seen=seen), roots, values):
                return []
        elif capture and not (create_graph and observe.HEAR_SWEEPS):
            found = sweep_for(roots, values, keep_graph, create_graph, inputs)
            if found is not None:
                return found if create_graph else seen.tensors_of(found)
    task = GraphTask(keep_graph=keep_graph, create_graph=create_graph, tensors=tensors, seen=seen)
    if inputs is not None:
        task.restrict(roots, inputs, capture)
    return _run_at_depth(task, roots, values)


def run_within(roots: list[Any], grads: list[Any], inputs: list[Any], create_graph: bool) -> list[Any]:
    """The gradients, as tensors, of the inputs of a graph of which only the running node knows."""
    task = GraphTask(keep_graph=create_graph, create_graph=create_graph, tensors=True, seen=SeenTensors(()))
    task.within_node = True
    task.restrict(roots, inputs, capture=True)
    return _run_at_depth(task, roots, grads)


def _run_at_depth(task: GraphTask, roots: list[Any], values: list[Any]) -> list[Any]:
    depth = len(STATE.tasks)
    if depth % _HOP_DEPTH != _HOP_DEPTH - 1:
        return task.run(roots, values)
    return _run_on_fresh_thread(task, roots, values)


def _run_on_fresh_thread(task: GraphTask, roots: list[Any], values: list[Any]) -> list[Any]:
    """Run a task on a new thread with this one's modes and context, for nested runs that would exhaust the stack."""
    outcome: list[Any] = []
    inherited = state.snapshot()

    def work() -> None:
        with state.inherited(inherited):
            try:
                outcome.append((task.run(roots, values), None))
            except BaseException as error:  # handed to the thread that waits
                outcome.append((None, error))

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(work,), name="retrograd-nested-backward")
    thread.start()
    thread.join()
    result, error = outcome.pop()
    try:
        if error is not None:
            raise error
    finally:
        del error  # with its traceback it holds this frame
    captured: list[Any] = result
    return captured
