"""Adding gradients up where some of them may be sparse."""

from __future__ import annotations

from typing import Any


def total(have: Any, g: Any) -> Any:
    """The sum of two gradients that are tensors; a sparse one is added to a dense one, whichever came first."""
    return g + have if have.is_sparse and not g.is_sparse else have + g
