"""Queries about the running backward pass: its task, its current node, the nodes it will execute."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import Any

from ..nodes.node import GraphNode, edge_parts
from ..switches.state import STATE
from .graph_task import GraphTask


def current_task() -> GraphTask | None:
    """The innermost running task of this thread."""
    return STATE.tasks[-1] if STATE.tasks else None


def current_graph_task_id() -> int:
    """Its id, or -1 outside of backward."""
    return STATE.tasks[-1].id if STATE.tasks else -1


def current_node() -> GraphNode | None:
    """The node that is running in this thread."""
    return STATE.nodes[-1] if STATE.nodes else None


def queue_callback(fn: Callable[[], Any]) -> None:
    """Run ``fn`` after all nodes of the current task; ``RuntimeError`` outside of backward."""
    task = current_task()
    if task is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    task.callbacks.append(fn)


def queue_outermost_callback(fn: Callable[[], Any]) -> None:
    """Run ``fn`` after the outermost of the tasks that run inside each other on this thread."""
    if not STATE.tasks:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    STATE.tasks[0].callbacks.append(fn)


def will_execute(node: Any) -> bool:
    """Whether the current task executes ``node`` (a captured non-leaf counts)."""
    task = current_task()
    if task is None:
        raise RuntimeError("_get_should_execute: this should only be called during the backward pass")
    if not isinstance(node, GraphNode):
        raise RuntimeError("_will_engine_execute_node expects an grad_fn, but got " + type(node).__name__)
    if task.reached is None:
        return node in task.dependencies
    if node in task.captures and node in task.dependencies and node not in task.runs:
        if node.accumulates:
            raise RuntimeError(
                "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). "
                "This is currently not supported."
            )
        return True
    return node in task.runs and node in task.dependencies


def keeps_graph() -> bool:
    """Whether the current task retains the graph (True outside of backward)."""
    task = current_task()
    return True if task is None else task.keep_graph


def execution_order() -> list[GraphNode]:
    """The nodes of the current task in the order in which they will run; needs multithreading disabled."""
    task = current_task()
    if task is None:
        raise RuntimeError("_current_graph_task_execution_order: should only be called during the backward pass")
    if STATE.multithreading:
        raise RuntimeError(
            "_current_graph_task_execution_order expects the current backward to be executed with multithreading "
            "disabled, e.g. by running: with torch.autograd.set_multithreading_enabled(False):"
        )
    return _simulated_order(task)


def _simulated_order(task: GraphTask) -> list[GraphNode]:
    """The nodes that a task is still going to run, in order, found by counting dependencies down without running."""
    left = dict(task.dependencies)
    counter = itertools.count().__next__
    running = current_node()
    heap = [(-n._sequence_nr(), counter(), n) for _, _, n in sorted(task.ready)]
    if running is not None and left.get(running) == 0:
        heap.append((-running._sequence_nr(), counter(), running))
    heapq.heapify(heap)
    order = []
    while heap:
        node = heapq.heappop(heap)[2]
        order.append(node)
        if not task.executes(node):
            continue
        for edge in node._edges:
            if edge is None or not task.wants(edge):
                continue
            target = edge_parts(edge)[0]
            left[target] -= 1
            if left[target] == 0:
                heapq.heappush(heap, (-target._sequence_nr(), counter(), target))
    return order
