"""Symmetric indefinite factors ``A = L D L^T`` with the pivoting of Bunch and Kaufman (LAPACK's ``sytrf``, ``hetrf``).

``L`` is kept as the product of elementary steps, as LAPACK keeps it: exchanges are not applied to earlier columns.
A positive pivot stands for a step of one column, two equal negative ones for a step of two.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...rules.matrix_checks import check_dtype, check_square, takes_empty
from ...table.rows import underivable

_GROWTH = (1 + math.sqrt(17)) / 8
"""Bounds the growth of elements (Bunch and Kaufman 1977)."""


def _turned(a: Any, hermitian: bool) -> Any:
    return a.T.conj() if hermitian else a.T


def _size(a: Any) -> Any:
    return np.abs(a.real) + np.abs(a.imag)


def _choice(a: Any, k: int) -> tuple[int, int]:
    """The row to bring up, and how many columns the step takes."""
    below = _size(a[k + 1 :, k])
    here = _size(a[k, k])
    if not below.size or here >= _GROWTH * below.max():
        return k, 1
    best = k + 1 + int(below.argmax())
    most = below.max()
    along = max(_size(a[best, k:best]).max(), _size(a[best + 1 :, best]).max(initial=0))
    if here >= _GROWTH * most * (most / along):
        return k, 1
    return best, 1 if _size(a[best, best]) >= _GROWTH * along else 2


def _exchange(a: Any, k: int, at: int, other: int, hermitian: bool) -> None:
    """Exchange two rows and columns of the part of a lower triangle that is still to be done."""
    a[other + 1 :, [at, other]] = a[other + 1 :, [other, at]]
    between = slice(at + 1, other)
    column, row = a[between, at].copy(), a[other, between].copy()
    a[between, at], a[other, between] = (row.conj(), column.conj()) if hermitian else (row, column)
    if hermitian:
        a[other, at] = np.conj(a[other, at])
    a[at, at], a[other, other] = a[other, other], a[at, at]
    if at > k:
        a[at, k], a[other, k] = a[other, k], a[at, k]


def _middle(a: Any, k: int, step: int, hermitian: bool) -> Any:
    """The block of ``D`` of a step, whole."""
    lower = np.tril(a[k : k + step, k : k + step])
    return lower + _turned(np.tril(lower, -1), hermitian)


def _divided(block: Any, rows: Any) -> Any:
    """``block ** -1 @ rows`` for a block of one or two rows; a zero gives infinities, as in LAPACK."""
    return rows / block if len(block) == 1 else np.linalg.solve(block, rows)


def _factor(matrix: Any, hermitian: bool) -> tuple[Any, Any, int]:
    """L and D of one symmetric or hermitian matrix in one array, LAPACK's pivots, and the first that is 0."""
    a, n, k, info = np.tril(matrix), len(matrix), 0, 0
    if hermitian:
        np.fill_diagonal(a, a.diagonal().real)
    pivots = np.zeros(n, np.int32)
    while k < n:
        other, step = _choice(a, k)
        if step == 1 and other == k and not _size(a[k:, k]).any():
            info = info or k + 1
            pivots[k], k = k + 1, k + 1
            continue
        at, end = k + step - 1, k + step
        if other != at:
            _exchange(a, k, at, other, hermitian)
        columns = a[end:, k:end].copy()
        a[end:, k:end] = _divided(_middle(a, k, step, hermitian).T, columns.T).T
        a[end:, end:] -= np.tril(a[end:, k:end] @ _turned(columns, hermitian))
        pivots[k:end] = other + 1 if step == 1 else -(other + 1)
        k = end
    return a, pivots, info


@takes_empty("linalg.ldl_factor_ex")
def _ldl_factor(self: Any, hermitian: bool) -> Any:
    check_dtype("linalg.ldl_factor_ex", self)
    check_square("linalg.ldl_factor_ex", self)
    n, batch = self.shape[-1], self.shape[:-2]
    found = [_factor(matrix, hermitian) for matrix in self.reshape(math.prod(batch), n, n)]
    factors = np.array([f[0] for f in found], self.dtype).reshape(self.shape)
    pivots = np.array([f[1] for f in found], np.int32).reshape(*batch, n)
    return factors, pivots, np.array([f[2] for f in found], np.int32).reshape(batch)


def _steps(pivots: Any) -> list[tuple[int, int, int, int]]:
    """Where each step starts and ends, and the two rows that it exchanged."""
    steps, k = [], 0
    while k < len(pivots):
        width = 1 if pivots[k] > 0 else 2
        steps.append((k, k + width, k + width - 1, abs(int(pivots[k])) - 1))
        k += width
    return steps


def _solve(factors: Any, pivots: Any, right: Any, hermitian: bool) -> Any:
    x, steps = right.copy(), _steps(pivots)
    for start, end, at, other in steps:
        x[[at, other]] = x[[other, at]]
        x[end:] -= factors[end:, start:end] @ x[start:end]
        x[start:end] = _divided(_middle(factors, start, end - start, hermitian), x[start:end])
    for start, end, at, other in reversed(steps):
        x[start:end] -= _turned(factors[end:, start:end], hermitian) @ x[end:]
        x[[at, other]] = x[[other, at]]
    return x


def _ldl_solve(self: Any, pivots: Any, right: Any, hermitian: bool) -> Any:
    check_square("linalg.ldl_solve", self)
    n, m = right.shape[-2:]
    batch = np.broadcast_shapes(self.shape[:-2], right.shape[:-2])
    count = math.prod(batch)
    flat = (np.broadcast_to(a, (*batch, *a.shape[a.ndim - tail :])).reshape(count, *a.shape[a.ndim - tail :])
            for a, tail in ((self, 2), (pivots, 1), (right, 2)))  # fmt: skip
    found = [_solve(f, p, b, hermitian) for f, p, b in zip(*flat, strict=True)]
    return np.array(found, self.dtype).reshape(*batch, n, m)


underivable("_linalg_ldl_factor_ex", _ldl_factor, outputs=3, nondiff=(1, 2), layout="columns")
underivable("_linalg_ldl_solve", _ldl_solve, tensors="self pivots right", layout="columns")
