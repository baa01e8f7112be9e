"""Adds up gradients, some of which may be sparse."""

from __future__ import annotations

from typing import Any


def total(have: Any, g: Any) -> Any:
    """The sum of two gradients that are tensors; a sparse one is added to a dense one, whichever came first."""
    return g + have if have.is_sparse and not g.is_sparse else have + g


def arrived(have: Any, g: Any, create_graph: bool) -> Any:
    """The sum of what has arrived at a node and what arrives now; without a graph PyTorch adds sparse ones to the new
    one, so that their entries stand behind its entries."""
    return g + have if have.is_sparse and not create_graph else total(have, g)
