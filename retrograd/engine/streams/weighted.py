"""Indices drawn with given weights, a row of them for each row of weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .continuous import exponential
from .normal import narrowed
from .uniform import unit_doubles

if TYPE_CHECKING:
    from ..random import Generator


def with_replacement(generator: Generator, weights: Any, count: int) -> Any:
    """Each draw finds its place among the sums of the weights before, which are summed in their own precision."""
    precision = np.promote_types(weights.dtype, np.float32)
    edges = np.cumsum(weights, axis=1, dtype=precision)
    edges /= edges[:, -1:].copy()
    edges[:, -1] = 1
    points = unit_doubles(generator, len(weights) * count).reshape(-1, count)
    rows = zip(edges.astype(np.float64), points, strict=True)
    return np.array([np.searchsorted(edge, point) for edge, point in rows], np.int64).reshape(points.shape)


def without_replacement(generator: Generator, weights: Any, count: int) -> Any:
    """A race: those arrive first whose weights are largest compared with exponential numbers."""
    waiting = narrowed(exponential(generator, weights.size), weights.dtype).reshape(weights.shape)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        speed = weights / waiting
    if count == 1:
        return speed.argmax(axis=1).reshape(-1, 1)
    return np.argsort(-speed, axis=1, kind="stable")[:, :count].copy()
