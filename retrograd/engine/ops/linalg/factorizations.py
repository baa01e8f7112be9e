"""Factors of matrices: Cholesky, LDL, QR, Householder reflections."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.base import TensorBase, wrap
from ...core.registry import F
from ...rules.by_number import times
from ...rules.matrix_checks import LinAlgError, check_dtype, check_matrix, check_square, left_where_failed, takes_empty
from ...table.rows import function, underivable
from .products import adjoint
from .solving import no_inverse, substituted

# Cholesky factors, and solutions and inverses computed from them.


@takes_empty("linalg.cholesky")
def _cholesky(self: Any, upper: bool = False, check_errors: bool = True) -> Any:
    check_square("linalg.cholesky", self)
    half = self.mT.conj() if upper else self
    lower = _lower_factor(half)
    if lower is None:
        if check_errors:
            raise _not_positive(half)
        lower = _begun_where_failed(half)
    return np.ascontiguousarray(lower.mT.conj()) if upper else lower


def _lower_factor(half: Any) -> Any:
    """The lower factors, or ``None`` if one matrix of the batch has none."""
    try:
        lower = np.linalg.cholesky(half)
    except np.linalg.LinAlgError:
        return None
    unknown = np.isnan(np.diagonal(lower, axis1=-2, axis2=-1)).any()  # NumPy lets NaN pass, LAPACK does not
    return None if unknown else lower


def bad_minors(half: Any) -> Any:
    """For each matrix the order of its first leading minor that is not positive; 0 where all are."""
    matrices = half.reshape(-1, *half.shape[-2:])
    orders = [0 if _is_positive_definite(m) else _bad_minor(m)[1] for m in matrices]
    return np.reshape(orders, half.shape[:-2]).astype(np.int32)


def _begun_where_failed(half: Any) -> Any:
    """The lower factor of each matrix, or what there is of it."""
    orders, matrices = bad_minors(half), half.reshape(-1, *half.shape[-2:])
    begun = [_begun_factor(m, k) if k else m for m, k in zip(matrices, orders.reshape(-1), strict=True)]
    return left_where_failed(orders != 0, half, np.reshape(begun, half.shape), np.linalg.cholesky)


def _not_positive(self: Any) -> LinAlgError:
    element, order = _bad_minor(self)
    which = f"(Batch element {element}): " if self.ndim > 2 else ""
    return LinAlgError(
        f"linalg.cholesky: {which}The factorization could not be completed because the input is not positive-definite "
        f"(the leading minor of order {order} is not positive-definite)."
    )


def _is_positive_definite(matrix: Any) -> bool:
    """Whether one matrix has a Cholesky factor."""
    try:
        return not np.isnan(np.diagonal(np.linalg.cholesky(matrix))).any()
    except np.linalg.LinAlgError:
        return False


def _bad_minor(a: Any) -> tuple[int, int]:
    """The first matrix of a batch that is not positive, and the order of its first leading minor that is not."""
    for element, matrix in enumerate(a.reshape(-1, *a.shape[-2:])):
        for k in range(1, a.shape[-1] + 1):
            if not _is_positive_definite(matrix[:k, :k]):
                return element, k
    return 0, a.shape[-1]


def _begun_factor(matrix: Any, order: int) -> Any:
    """What is there of the lower factor when the leading minor of an order turns out not to be positive: the columns
    before it, the pivot itself, and the matrix behind."""
    left, pivot = np.tril(matrix), order - 1
    if pivot:
        top = np.linalg.cholesky(matrix[:pivot, :pivot])
        left[:pivot, :pivot] = top
        left[pivot:, :pivot] = np.linalg.solve(top.conj(), matrix[pivot:, :pivot].T).T
        left[pivot, pivot] -= np.vdot(left[pivot, :pivot], left[pivot, :pivot])
    return left


def _cholesky_back(g: Any, result: Any, upper: bool) -> Any:
    lower, gl = (adjoint(result), adjoint(g)) if upper else (result, g)
    phi = F.tril(F._matmul(adjoint(lower), gl), 0)
    phi = times(phi + adjoint(F.tril(phi, -1)), 0.5)
    side = F._solve_triangular(adjoint(lower), phi, True, True)
    return F._solve_triangular(lower, side, False, False)


def _cholesky_jvp(primal: Any, tangents: Any, results: Any) -> Any:
    upper = primal[1]
    lower = adjoint(results[0]) if upper else results[0]
    phi = F._solve_triangular(lower, tangents[0], False, True)
    phi = F.tril(F._solve_triangular(adjoint(lower), phi, True, False), 0)
    moved = F._matmul(lower, phi - F.diag_embed(F.diagonal(phi, 0, -2, -1)) * 0.5)
    return adjoint(moved) if upper else moved


function(
    "_cholesky_ex",
    _cholesky,
    node="LinalgCholeskyExBackward0",
    as_given=True,
    self=_cholesky_back,
    jvp=_cholesky_jvp,
    layout="columns",
)


def _old_cholesky(self: Any, upper: bool = False) -> Any:
    """The same, as the function that PyTorch had before, which leaves it to its kernel to refuse a dtype."""
    check_square("cholesky", self)
    return _cholesky(self, upper)


function("_cholesky_old", _old_cholesky, node="CholeskyBackward0", as_given=True, self=_cholesky_back, layout="columns")


def _cholesky_solve(self: Any, input2: Any, upper: bool = False) -> Any:
    part = np.triu(input2) if upper else np.tril(input2)
    other = part.mT.conj()
    try:
        return np.linalg.solve(other @ part if upper else part @ other, self)
    except np.linalg.LinAlgError:  # LAPACK divides by zeros on the diagonal
        below, above = (other, part) if upper else (part, other)
        return substituted(above, substituted(below, self, False), True)


def _cholesky_solve_back(g: Any, needs: Any, input2: Any, upper: bool, result: Any, self_sizes: Any) -> Any:
    side = F.cholesky_solve(g, input2, upper)
    both = F._matmul(side, adjoint(result))
    both = both + adjoint(both)
    factor = -(F._matmul(input2, both) if upper else F._matmul(both, input2))
    return F.sum_to_size(side, tuple(self_sizes)), F.sum_to_size(factor, tuple(input2.shape))


function(
    "cholesky_solve",
    _cholesky_solve,
    tensors="self input2",
    joint=_cholesky_solve_back,
    keeps="self",
    kinds="fc",
    layout="columns",
)


def _cholesky_inverse(self: Any, upper: bool = False) -> Any:
    """The inverse of the matrix whose Cholesky factor is given."""
    check_square("cholesky_inverse", self)
    part = np.triu(self) if upper else np.tril(self)
    try:
        return np.linalg.inv(part.mT.conj() @ part if upper else part @ part.mT.conj())
    except np.linalg.LinAlgError:
        raise no_inverse("cholesky_inverse", part if upper else part.mT) from None


def _cholesky_inverse_back(g: Any, self: Any, result: Any, upper: bool) -> Any:
    both = F._matmul(F._matmul(result, g + adjoint(g)), result)
    return -F._matmul(self, both) if upper else -F._matmul(both, self)


def _cholesky_inverse_tangent(primal: Any, tangents: Any, results: Any) -> Any:
    """Only the triangle is read, so only its tangents count (PyTorch's agree with no finite differences)."""
    upper = primal[1]
    part = F.triu if upper else F.tril
    factor, moved = part(primal[0]), part(tangents[0])
    half = F._matmul(adjoint(moved), factor) if upper else F._matmul(moved, adjoint(factor))
    return -F._matmul(F._matmul(results[0], half + adjoint(half)), results[0])


function(
    "cholesky_inverse", _cholesky_inverse, self=_cholesky_inverse_back, jvp=_cholesky_inverse_tangent, layout="columns"
)


# Symmetric indefinite factors `A = L D L^T` with the pivoting of Bunch and Kaufman (LAPACK's `sytrf`, `hetrf`).

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


# QR factors of matrices, and the reflections that LAPACK keeps of them.


def _qr(self: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    check_matrix("linalg.qr", "A", self)
    check_dtype("linalg.qr", self)
    factors: Any = np.linalg.qr
    return (np.zeros(0, self.dtype), factors(self, "r")) if mode == "r" else tuple(factors(self, mode))


def _half_diagonal(x: Any) -> Any:
    """``x + x^H`` with the diagonal counted once."""
    both = x + adjoint(x)
    return both - times(F.diag_embed(F.diagonal(both, 0, -2, -1)), 0.5)


def _qr_square(gq: Any, gr: Any, q: Any, r: Any) -> Any:
    inner = _half_diagonal(F.triu(F._matmul(gr, adjoint(r)) - F._matmul(adjoint(q), gq), 0))
    return F._solve_triangular(adjoint(r), F._matmul(q, inner) + gq, False, False)


def _qr_back(g: Any, result: Any, mode: str) -> Any:
    """The gradient of QR for ``A`` ``(..., m, n)``; where m < n, the columns behind the first m follow from Q."""
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to require gradients."
        )
    (gq, gr), (q, r) = g, result
    m, n = q.shape[-2], r.shape[-1]
    if mode == "complete" and m > n:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    if m >= n:
        return _qr_square(gq, gr, q, r)
    right = F._slice(gr, -1, m, n)
    gq = gq + F._matmul(F._matmul(q, F._slice(r, -1, m, n)), adjoint(right))
    left = _qr_square(gq, F._slice(gr, -1, 0, m), q, F._slice(r, -1, 0, m))
    return F.cat([left, F._matmul(q, right)], -1)


function("_qr", _qr, node="LinalgQrBackward0", as_given=True, outputs=2, self=_qr_back, layout="columns")


def _geqrf(self: Any) -> Any:
    """Reflections below the triangle, as LAPACK leaves them (NumPy gives them transposed), and their scales."""
    check_dtype("geqrf", self)
    h, tau = np.linalg.qr(self, mode="raw")
    return np.ascontiguousarray(h.swapaxes(-2, -1)), tau


underivable("_geqrf", _geqrf, outputs=2, layout="columns")


# Products of Householder reflections `H = 1 - tau v v^H`, as LAPACK keeps them below a diagonal.


def _reflection(vectors: Any, tau: Any, i: int) -> tuple[Any, Any]:
    """The ``i``-th column ``v``, with its 1 and the zeros above, and its ``tau``, in shapes that multiply matrices."""
    rows = vectors.shape[-2]
    unit: Any = np.zeros((rows, 1), np.float32)
    unit[i] = 1
    below = F.tril(F._slice(vectors, -1, i, i + 1, 1), -i - 1)
    if isinstance(below, TensorBase):
        return below + wrap(unit.astype(below._sig.numpy)), F.unsqueeze(F._slice(tau, -1, i, i + 1, 1), -1)
    return below + unit.astype(below.dtype), tau[..., i : i + 1, None]


def _reflector_steps(vectors: Any, tau: Any, start: Any, order: Sequence[int], turned: bool) -> list[Any]:
    """What is there after each of the reflections (their adjoints, if ``turned``), first what was there before."""
    found = [start]
    for i in order:
        v, scale = _reflection(vectors, tau, i)
        scale = F.conj(scale) if turned else scale
        last = found[-1]
        found.append(last - F._matmul(v * scale, F._matmul(adjoint(v), last)))
    return found


def _steps_back(g: Any, vectors: Any, tau: Any, start: Any, order: Sequence[int], turned: bool) -> tuple[Any, Any]:
    """The gradients of ``vectors`` and ``tau``, from that of the last of the steps."""
    states = _reflector_steps(vectors, tau, start, order, turned)
    columns: dict[int, Any] = {}
    scales: dict[int, Any] = {}
    for before, i in zip(states[-2::-1], reversed(order), strict=True):
        v, scale = _reflection(vectors, tau, i)
        scale = F.conj(scale) if turned else scale
        row, into = F._matmul(adjoint(v), before), F._matmul(adjoint(v), g)
        of_scale = -F._matmul(into, adjoint(row))
        scales[i] = F.conj(of_scale) if turned else of_scale
        of_vector = F.conj(scale) * F._matmul(g, adjoint(row)) + scale * F._matmul(before, adjoint(into))
        columns[i] = F.tril(-of_vector, -i - 1)
        g = g - F._matmul(v * F.conj(scale), into)
    rest = F.zeros_like(F._slice(vectors, -1, len(order), vectors.shape[-1], 1))
    into_vectors = F.cat([*[columns[i] for i in range(len(order))], rest], -1)
    into_tau = F._squeeze_dim(F.cat([scales[i] for i in range(len(order))], -2), -1) if order else F.zeros_like(tau)
    return into_vectors, into_tau


def _eye(vectors: Any) -> Any:
    kind = vectors._sig.numpy if isinstance(vectors, TensorBase) else vectors.dtype
    eye = np.array(np.broadcast_to(np.eye(*vectors.shape[-2:], dtype=kind), tuple(vectors.shape)))
    return wrap(eye) if isinstance(vectors, TensorBase) else eye


def _householder_product(self: Any, tau: Any) -> Any:
    return _reflector_steps(self, tau, _eye(self), range(tau.shape[-1])[::-1], False)[-1]


def _householder_grads(g: Any, needs: Any, self: Any, tau: Any) -> Any:
    return _steps_back(g, self, tau, _eye(self), range(tau.shape[-1])[::-1], False)


function("_householder_product", _householder_product, node="LinalgHouseholderProductBackward0", as_given=True,
         tensors="self tau",
         joint=_householder_grads, keeps="result", layout="columns")  # fmt: skip


def _order(tau: Any, left: bool, transpose: bool) -> tuple[Sequence[int], bool]:
    """In which order the reflections meet what they multiply from the left, and whether their adjoints do."""
    turned = left == transpose
    count = range(tau.shape[-1])
    return count if turned else count[::-1], turned


def _ormqr(self: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    """The product of reflections times ``other``, or, adjoint to that of their adjoints, the other way round."""
    found = _reflector_steps(self, tau, other if left else adjoint(other), *_order(tau, left, transpose))[-1]
    return found if left else adjoint(found)


def _ormqr_grads(g: Any, needs: Any, self: Any, tau: Any, other: Any, left: bool, transpose: bool) -> Any:
    into_other = F._ormqr(self, tau, g, left, not transpose) if needs[2] else None
    if not (needs[0] or needs[1]):
        return None, None, into_other
    sides = (g, other) if left else (adjoint(g), adjoint(other))
    return *_steps_back(sides[0], self, tau, sides[1], *_order(tau, left, transpose)), into_other


function("_ormqr", _ormqr, node="OrmqrBackward0", as_given=True,
         tensors="self tau other", joint=_ormqr_grads, keeps="result",
         layout="columns")  # fmt: skip
