"""Watching the engine: a list of observers that is empty in normal use.

An observer is any object; those of these methods that it has are called, on the thread that does the work:

``operation(name, node, inputs, outputs)`` after an operation (``node`` is ``None`` when nothing was recorded);
``inplace(name, node, tensor, version)`` after an in-place write;
``cut(reason, tensor, result)`` when a value leaves the graph (``detach``, ``.data``, ``item``, ``numpy``, …);
``backward_began(roots)`` with ``(node, input number)`` pairs, just before a run, and ``backward_ended(error)``;
``node_began(node, grads)`` and ``node_ended(node, grads, results)`` around each node;
``accumulated(leaf, grad)`` after a leaf's ``.grad`` changed; ``released(node)``.

Observers must not keep what they are given.
"""

from __future__ import annotations

from typing import Any

from .state import enter_mode, leave_mode

observers: list[Any] = []


def add(observer: Any) -> None:
    """Start telling ``observer``."""
    observers.append(observer)
    enter_mode()


def remove(observer: Any) -> None:
    """Stop telling ``observer``; unknown observers are ignored."""
    if observer in observers:
        observers.remove(observer)
        leave_mode()


def tell(event: str, *args: Any) -> None:
    """Call the method named ``event`` of every observer that has it."""
    for observer in observers:
        method = getattr(observer, event, None)
        if method is not None:
            method(*args)


def operation(name: str, node: Any, inputs: Any, outputs: Any) -> None:
    """Tell of an operation."""
    tell("operation", name, node, inputs, outputs)
