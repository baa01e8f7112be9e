"""``register_multi_grad_hook``: one function for the gradients of several tensors."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ...locks import lock
from ..execution.graph_task import GraphTask
from ..execution.introspection import current_task, will_execute
from ..nodes.hooks import RemovableHandle, _MultiHandle
from .interface import _get_grad_fn_or_grad_acc

_MODES = ("all", "any")


def register_multi_grad_hook(tensors: Sequence[Any], fn: Callable[..., Any], *, mode: str = "all") -> RemovableHandle:
    """Call ``fn`` once per backward with the gradients of ``tensors``; gradients are never changed.

    ``mode="all"``: ``fn(list)`` when the gradients of all tensors that this backward reaches are there, ``None`` for
    the others; ``AssertionError`` for a tensor that does not require grad. ``mode="any"``: ``fn(grad)`` with the
    first gradient; tensors that do not require grad are skipped. ``ValueError`` for another mode.
    """
    if mode not in _MODES:
        raise ValueError(f"Expects mode to be one of {_MODES} but got {mode}")
    return _register_all(tensors, fn) if mode == "all" else _register_any(tensors, fn)


def _running_task() -> GraphTask:
    task = current_task()
    assert task is not None, "expected this hook to be called inside a backward call"
    return task


class _Gathering:
    """The gradients that arrived in one task, and how many it will deliver.

    PyTorch keeps that number once for all tasks, so that a backward inside a backward makes the outer one fire
    early or never; here each task has its own.
    """

    __slots__ = ("arrived", "expected", "grads")

    def __init__(self, nodes: list[Any]) -> None:
        self.expected = sum(node is not None and will_execute(node) for node in nodes)
        self.arrived = 0
        self.grads: list[Any] = [None] * len(nodes)


def _node_finder(t: Any) -> Callable[[], Any]:
    """Finds the node that the hook of ``t`` sits on, without keeping it: it keeps the hook."""
    node = _get_grad_fn_or_grad_acc(t)
    if not node.accumulates:
        return weakref.ref(node)
    leaf = weakref.ref(t)

    def accumulator() -> Any:
        tensor = leaf()
        found = None if tensor is None or tensor._meta is None else tensor._meta.accumulator
        return None if found is None else found()

    return accumulator


def _register_all(tensors: Sequence[Any], fn: Callable[[list[Any]], Any]) -> RemovableHandle:
    """Call ``fn`` with all gradients of a run once the last one that it computes has arrived."""
    finders = [_node_finder(t) for t in tensors]
    one_at_a_time = lock()
    gatherings: weakref.WeakKeyDictionary[GraphTask, _Gathering] = weakref.WeakKeyDictionary()

    def record(position: int, grad: Any) -> None:
        task = _running_task()
        with one_at_a_time:
            gathering = gatherings.get(task)
            if gathering is None:
                gathering = gatherings[task] = _Gathering([find() for find in finders])
            gathering.grads[position] = grad
            gathering.arrived += 1
            complete = gathering.arrived == gathering.expected
            if complete:
                del gatherings[task]
        if complete:
            fn(gathering.grads)

    return _MultiHandle([t.register_hook(functools.partial(record, i)) for i, t in enumerate(tensors)])


def _register_any(tensors: Sequence[Any], fn: Callable[[Any], Any]) -> RemovableHandle:
    """Call ``fn`` with the first gradient of a run."""
    one_at_a_time = lock()
    done: weakref.WeakSet[GraphTask] = weakref.WeakSet()

    @functools.wraps(fn)
    def first(grad: Any) -> None:
        task = _running_task()
        with one_at_a_time:
            if task in done:
                return
            done.add(task)
        fn(grad)

    return _MultiHandle([t.register_hook(first) for t in tensors if t.requires_grad])
