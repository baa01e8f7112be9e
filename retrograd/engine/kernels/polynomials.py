"""Orthogonal polynomials by their three-term recurrences (DLMF 18.9), Chebyshev's by closed forms where there are.

A recurrence takes a step for each degree, so its loop ends as soon as everything that continues has overflowed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Step = Callable[[Any, int, Any, Any], Any]
Closed = Callable[[Any, Any], Any]

_LOOK = 64
"""After how many steps the loop looks whether anything finite is left."""


def recurrence(
    second: Callable[[Any], Any], step: Step, closed: Closed | None = None, ends: Closed | None = None
) -> Callable[[Any, Any], Any]:
    """A kernel ``p(x, n)``: ``p_0 = 1``, ``p_1 = second(x)``, ``p_(k+1) = step(x, k, p_k, p_(k-1))``; 0 for n < 0.

    ``closed(angle, n)`` is the value at ``x = cos(angle)``, and ``ends(x, n)`` the one at ``x = 1`` and ``x = -1``.
    """

    def kernel(x: Any, n: Any) -> Any:
        x, n = np.broadcast_arrays(x, n)
        kept = x.dtype if x.dtype.kind == "f" else np.dtype(np.float32)
        x, degree = x.astype(np.float64), np.trunc(n).astype(np.int64)
        if closed is None or ends is None:
            return _stepped(x, degree, second, step).astype(kept)
        known = (degree > 6) & (np.abs(x) <= 1)
        out = _stepped(x, np.where(known, 0, degree), second, step)
        inside = known & (np.abs(x) < 1)
        out = np.where(inside, closed(np.arccos(np.where(inside, x, 0.0)), degree), out)
        return np.where(known & ~inside, ends(x, degree), out).astype(kept)

    return kernel


def _stepped(x: Any, degree: Any, second: Callable[[Any], Any], step: Step) -> Any:
    previous, current = np.ones_like(x), np.asarray(second(x))
    out = np.where(degree == 0, previous, np.where(degree == 1, current, 0.0))
    for k in range(1, int(degree.max(initial=0))):
        previous, current = current, step(x, k, current, previous)
        out = np.where(degree == k + 1, current, out)
        if k % _LOOK == 0 and not np.isfinite(current[degree > k + 1]).any():
            return np.where(degree > k + 1, np.nan, out)
    return np.asarray(out)


def _chebyshev(x: Any, k: int, p: Any, before: Any) -> Any:
    return 2.0 * x * p - before


def _turns(x: Any, n: Any) -> Any:
    """``x ** n`` for 1 and -1."""
    return np.where(n % 2 == 0, 1.0, x)


def shifted(kernel: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The polynomial of ``2 x - 1``."""
    return lambda x, n: kernel(2.0 * x - 1.0, n)


chebyshev_t = recurrence(lambda x: x, _chebyshev, lambda angle, n: np.cos(n * angle), _turns)
chebyshev_u = recurrence(
    lambda x: 2.0 * x, _chebyshev,
    lambda angle, n: np.sin((n + 1) * angle) / np.sin(angle), lambda x, n: (n + 1) * _turns(x, n),
)  # fmt: skip
chebyshev_v = recurrence(
    lambda x: 2.0 * x - 1.0, _chebyshev,
    lambda angle, n: np.cos((n + 0.5) * angle) / np.cos(angle / 2),
    lambda x, n: np.where(x > 0, 1, 2 * n + 1) * _turns(x, n),
)  # fmt: skip
chebyshev_w = recurrence(
    lambda x: 2.0 * x + 1.0, _chebyshev,
    lambda angle, n: np.sin((n + 0.5) * angle) / np.sin(angle / 2),
    lambda x, n: np.where(x > 0, 2 * n + 1, 1) * _turns(x, n),
)  # fmt: skip
hermite_h = recurrence(lambda x: 2.0 * x, lambda x, k, p, before: 2.0 * x * p - 2.0 * k * before)
hermite_he = recurrence(lambda x: x, lambda x, k, p, before: x * p - k * before)
laguerre = recurrence(lambda x: 1.0 - x, lambda x, k, p, before: ((2 * k + 1 - x) * p - k * before) / (k + 1))
legendre = recurrence(lambda x: x, lambda x, k, p, before: ((2 * k + 1) * x * p - k * before) / (k + 1))
