"""``torch.utils._mode_utils``: re-exports only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..engine.overriding.dispatch_classes import DisableTorchDispatch

__all__ = ["no_dispatch"]


@contextmanager
def no_dispatch() -> Iterator[None]:
    """Within this block no class is asked by ``__torch_dispatch__``."""
    with DisableTorchDispatch():
        yield
