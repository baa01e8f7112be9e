"""Histograms: the number of elements in each bin."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...table.rows import nondifferentiable, underivable


def _histc(self: Any, bins: int, limits: Any) -> Any:
    return np.histogram(self, bins, limits)[0].astype(self.dtype)


nondifferentiable("_histc", _histc)


def _histogram(self: Any, edges: Any, weight: Any, density: bool) -> Any:
    """Counts (or weights, or densities) between the edges, and the edges."""
    weights = None if weight is None else weight.reshape(-1)
    counts, edges = np.histogram(self.reshape(-1), edges, weights=weights, density=density)
    return counts.astype(self.dtype), edges.astype(self.dtype)


underivable("_histogram", _histogram, tensors="self edges weight", outputs=2)


def _weighted_bincount(self: Any, weights: Any, minlength: int) -> Any:
    """Sums of weights by the numbers beside them, in double precision but for single weights."""
    return np.bincount(self, weights.astype(np.float64), minlength).astype(
        np.float32 if weights.dtype == np.float32 else np.float64
    )


underivable("_weighted_bincount", _weighted_bincount, tensors="self weights", aten="bincount", as_given=True)


def _histogramdd(self: Any, edges: Any, weight: Any, density: bool) -> Any:
    """Counts (or weights, or densities) of points in a grid."""
    weights = None if weight is None else weight.reshape(-1)
    points = self.reshape(-1, self.shape[-1])
    return np.histogramdd(points, edges, weights=weights, density=density)[0].astype(self.dtype)


for _how in ("bin_cts", "bin_tensors"):
    underivable(f"_histogramdd_from_{_how}", _histogramdd, tensors="self weight", aten=f"_histogramdd_from_{_how}")
underivable("_histogramdd_bin_edges", lambda self, weight, edges: edges, tensors="self weight", outputs="many",
            aten="_histogramdd_bin_edges")  # fmt: skip
