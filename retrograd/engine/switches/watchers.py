"""Counts things that could run the user's code during a backward pass: hooks, retained gradients, custom Functions.

While there is none, the order in which independent nodes run is unobservable, and the engine may use the sweep
(``sweep.py``) instead of the full task (``graph_task.py``).
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from ...locks import reentrant_lock

_lock = reentrant_lock()  # re-entered when the garbage collector runs inside
LIVE = 0
DISPATCHING = 0
"""How many tensors live whose class has a ``__torch_dispatch__``; gradients are tensors then, as they may be such."""


def appear() -> None:
    """Count something that runs the user's code in backward."""
    global LIVE
    with _lock:
        LIVE += 1


def vanish() -> None:
    """Stop counting it."""
    global LIVE
    with _lock:
        LIVE -= 1


def appear_dispatching() -> None:
    """Count a tensor whose class is asked about operators."""
    global LIVE, DISPATCHING
    with _lock:
        LIVE += 1
        DISPATCHING += 1


def vanish_dispatching() -> None:
    """Stop counting it."""
    global LIVE, DISPATCHING
    with _lock:
        LIVE -= 1
        DISPATCHING -= 1


class HookDict(OrderedDict[int, Any]):
    """A tensor's hooks by handle id; counted while it lives."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        appear()

    def __del__(self) -> None:
        vanish()


HookDict.__name__ = HookDict.__qualname__ = "OrderedDict"  # as PyTorch's hooks are printed
