"""Orthogonal polynomials by their three-term recurrences (DLMF 18.9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Step = Callable[[Any, int, Any, Any], Any]


def recurrence(second: Callable[[Any], Any], step: Step) -> Callable[[Any, Any], Any]:
    """A kernel ``p(x, n)``: ``p_0 = 1``, ``p_1 = second(x)``, ``p_(k+1) = step(x, k, p_k, p_(k-1))``; 0 for n < 0."""

    def kernel(x: Any, n: Any) -> Any:
        x, n = np.broadcast_arrays(x, n)
        kept = x.dtype if x.dtype.kind == "f" else np.dtype(np.float32)
        x, degree = x.astype(np.float64), np.trunc(n).astype(np.int64)
        previous, current = np.ones_like(x), np.asarray(second(x))
        out = np.where(degree == 0, previous, np.where(degree == 1, current, 0.0))
        for k in range(1, int(degree.max(initial=0))):
            previous, current = current, step(x, k, current, previous)
            out = np.where(degree == k + 1, current, out)
        return np.asarray(out).astype(kept)

    return kernel


def _chebyshev(x: Any, k: int, p: Any, before: Any) -> Any:
    return 2.0 * x * p - before


def shifted(kernel: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The polynomial of ``2 x - 1``."""
    return lambda x, n: kernel(2.0 * x - 1.0, n)


chebyshev_t = recurrence(lambda x: x, _chebyshev)
chebyshev_u = recurrence(lambda x: 2.0 * x, _chebyshev)
chebyshev_v = recurrence(lambda x: 2.0 * x - 1.0, _chebyshev)
chebyshev_w = recurrence(lambda x: 2.0 * x + 1.0, _chebyshev)
hermite_h = recurrence(lambda x: 2.0 * x, lambda x, k, p, before: 2.0 * x * p - 2.0 * k * before)
hermite_he = recurrence(lambda x: x, lambda x, k, p, before: x * p - k * before)
laguerre = recurrence(lambda x: 1.0 - x, lambda x, k, p, before: ((2 * k + 1 - x) * p - k * before) / (k + 1))
legendre = recurrence(lambda x: x, lambda x, k, p, before: ((2 * k + 1) * x * p - k * before) / (k + 1))
