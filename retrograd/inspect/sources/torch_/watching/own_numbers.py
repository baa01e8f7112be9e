"""Gives handles of our hooks numbers from a separate range, so that the program's handles count as if unwatched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..library import LIBRARY

_LOWEST = -(2**62)
"""Far below zero, where PyTorch starts: hooks of the program are in the same dictionaries, under their numbers."""

HOOKS = (
    *("_global_backward_pre_hooks", "_global_backward_hooks"),
    *("_global_forward_pre_hooks", "_global_forward_hooks"),
)
"""Dictionaries of ``torch.nn.modules.module`` that hold hooks on all modules."""
_given = 0
"""How many numbers were used; none is reused, as several breakpoints may have hooks on one node."""


@contextmanager
def own_numbers() -> Iterator[None]:
    """Give handles made inside the block numbers that no handle of the program has."""
    global _given
    handle: Any = LIBRARY.torch.utils.hooks.RemovableHandle
    if not hasattr(handle, "next_id"):
        yield
        return
    theirs, handle.next_id = handle.next_id, _LOWEST + _given
    try:
        yield
    finally:
        _given, handle.next_id = handle.next_id - _LOWEST, theirs


def program_has_global_hooks() -> bool:
    """Whether the program has hooks on all modules; ours are recognized by their numbers."""
    module = vars(LIBRARY.torch.nn.modules.module)
    return any(number >= 0 for name in HOOKS for number in module.get(name, ()))
