"""Systems of equations, inverses, determinants and triangular factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..calls.refusals import refuse_kind
from ..table.registry import F
from ..table.rows import function
from ..tensors.absent import AbsentMemory
from ..tensors.base import TensorBase, wrap
from .arithmetic import conj
from .products import adjoint
from .statistics import product_of_others, raw


class LinAlgError(RuntimeError):
    """A matrix that the computation cannot take: singular, or not positive-definite."""


def check_matrix(name: str, letter: str, t: Any) -> None:
    """``RuntimeError`` for an argument, called ``letter``, that is not a matrix or a batch of them."""
    if t.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {letter} must have at least 2 dimensions.")


def check_sides(name: str, a: Any) -> None:
    """``RuntimeError`` for matrices, called ``A``, that are not square."""
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} matrices"
        )


def check_square(name: str, a: Any, *, half: bool = False) -> None:
    """``RuntimeError`` for anything but square matrices of a floating (float16 with ``half``) or complex dtype."""
    check_matrix(name, "A", a)
    check_sides(name, a)
    if not half or a.dtype != np.float16:
        check_dtype(name, a)


_KERNELS = {
    "linalg.lu_factor": "lu_cpu", "linalg.eigh": "linalg_eigh_cpu", "cholesky": "cholesky_cpu", "geqrf": "geqrf_cpu",
    "cholesky_inverse": "cholesky_inverse_out_cpu", "linalg.solve_triangular": "triangular_solve_cpu",
}  # fmt: skip
"""Functions that leave it to their kernels to refuse a dtype."""
_KERNELS_OF_FLOATS = _KERNELS | {
    "linalg.det": "lu_cpu", "linalg.solve": "lu_cpu", "linalg.qr": "geqrf_cpu", "linalg.svd": "linalg_svd_cpu",
    "linalg.eig": "linalg_eig_out_cpu", "linalg.cholesky": "cholesky_cpu",
}  # fmt: skip
"""Those that look at integers themselves and leave half precision to their kernels, too."""


def check_dtype(name: str, a: Any) -> None:
    """``RuntimeError`` for dtypes that linear algebra does not take, or the kernel's ``NotImplementedError``."""
    kernel = (_KERNELS_OF_FLOATS if a.dtype.kind == "f" else _KERNELS).get(name)
    if kernel is not None:
        refuse_kind(kernel, a.dtype, "wc")
    if a.dtype.kind not in "fc" or a.dtype.itemsize < 4:
        kind = (
            "Low precision dtypes not supported."
            if a.dtype.kind == "f"
            else "Expected a floating point or complex tensor as input."
        )
        raise RuntimeError(f"{name}: {kind} Got {a.dtype}")


def is_vector(a: Any, b: Any) -> bool:
    """Whether the right side is a (batch of) vector(s), as torch tells them from matrices."""
    return len(b.shape) == 1 or (len(a.shape) - 1 == len(b.shape) and tuple(b.shape) == tuple(a.shape[:-1]))


# -- solve


def _solve(self: Any, other: Any, left: bool = True) -> Any:
    """Solve ``AX = B`` (or ``XA = B``); B ``(..., n)`` counts as a batch of vectors where shapes say so."""
    check_square("linalg.solve", self)
    if self.dtype != other.dtype:
        raise RuntimeError(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type {self.dtype} and B of type "
            f"{other.dtype} instead"
        )
    vector = is_vector(self, other)
    if vector and not left:
        raise RuntimeError("linalg.solve: Vector broadcasting of the left hand side is not supported for left=False.")
    rhs = other[..., None] if vector else other
    if rhs.shape[-2 if left else -1] != self.shape[-1]:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({self.shape[-2]}x{self.shape[-1]} and {rhs.shape[-2]}x{rhs.shape[-1]})"
        )
    try:
        out = np.linalg.solve(self, rhs) if left else np.linalg.solve(self.mT, rhs.mT).mT
    except np.linalg.LinAlgError:
        raise LinAlgError("linalg.solve: The solver failed because the input matrix is singular.") from None
    return out[..., 0] if vector else np.ascontiguousarray(out)


def _solve_self(g: Any, self: Any, other: Any, result: Any, left: bool) -> Any:
    side = _solve_other_full(g, self, other, left)
    if is_vector(self, other):
        shares = F.unsqueeze(side, -1) * conj(F.unsqueeze(result, -2))
    else:
        shares = F._matmul(side, adjoint(result)) if left else F._matmul(adjoint(result), side)
    return F.sum_to_size(-shares, tuple(self.shape))


def _solve_other_full(g: Any, self: Any, other: Any, left: bool) -> Any:
    if is_vector(self, other):
        return F._squeeze_dim(F._solve(adjoint(self), F.unsqueeze(g, -1), True), -1)
    return F._solve(adjoint(self), g, left)


def _solve_other(g: Any, self: Any, other: Any, left: bool) -> Any:
    return F.sum_to_size(_solve_other_full(g, self, other, left), tuple(other.shape))


function("_solve", _solve, node="LinalgSolveExBackward0", self=_solve_self, other=_solve_other, layout="columns")


# -- triangular


def _substituted(a: Any, b: Any, upper: bool) -> Any:
    """Solve row by row, as LAPACK does: a zero on the diagonal gives infinities rather than an error."""
    n = a.shape[-1]
    x = np.zeros(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + b.shape[-2:], b.dtype)
    for i in range(n - 1, -1, -1) if upper else range(n):
        rest = b[..., i, :] - np.matmul(a[..., i, None, :], x)[..., 0, :]
        x[..., i, :] = rest / a[..., i, i, None]
    return x


def _triangle(a: Any, upper: bool, unitriangular: bool) -> Any:
    part = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        n = np.arange(a.shape[-1])
        part[..., n, n] = 1
    return part


def _solve_triangular(self: Any, other: Any, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """Solve ``AX = B`` (or ``XA = B``) with a triangular A, by substitution where it is small or singular."""
    check_square("linalg.solve_triangular", self)
    check_matrix("linalg.solve_triangular", "B", other)
    a, b = _triangle(self, upper, unitriangular), other.astype(self.dtype, copy=False)
    if not left:
        a, b, upper = a.mT, b.mT, not upper
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(
            f"linalg.solve_triangular: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'}"
            f" ({self.shape[-2]}x{self.shape[-1]} and {other.shape[-2]}x{other.shape[-1]})"
        )
    try:
        out = np.linalg.solve(a, b) if a.size > 64 else _substituted(a, b, upper)
    except np.linalg.LinAlgError:
        out = _substituted(a, b, upper)
    return out if left else np.ascontiguousarray(out.mT)


def _triangular_self(g: Any, self: Any, result: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    side = F._solve_triangular(adjoint(self), g, not upper, left, unitriangular)
    shares = F._matmul(side, adjoint(result)) if left else F._matmul(adjoint(result), side)
    step = 1 if unitriangular else 0
    shares = F.triu(-shares, step) if upper else F.tril(-shares, -step)
    return F.sum_to_size(shares, tuple(self.shape))


def _triangular_other(g: Any, self: Any, other_sizes: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    return F.sum_to_size(F._solve_triangular(adjoint(self), g, not upper, left, unitriangular), tuple(other_sizes))


for _name, _node in (
    ("_solve_triangular", "LinalgSolveTriangularBackward0"),
    ("_triangular_solve", "TriangularSolveBackward0"),
):
    _kept = "other" if _name == "_triangular_solve" else ""
    function(
        _name,
        _solve_triangular,
        node=_node,
        self=_triangular_self,
        other=_triangular_other,
        keeps=_kept,
        layout="columns",
    )


# -- inverse and determinants


def _inv(self: Any) -> Any:
    check_square("linalg.inv", self)
    try:
        return np.linalg.inv(self)
    except np.linalg.LinAlgError:
        raise LinAlgError(
            "linalg.inv: The diagonal element is zero, the inversion could not be completed because the input matrix "
            "is singular."
        ) from None


function("_inv", _inv, node="LinalgInvExBackward0", layout="columns",
         self=lambda g, result: -F._matmul(adjoint(result), F._matmul(g, adjoint(result))))  # fmt: skip


def _det(self: Any) -> Any:
    check_square("linalg.det", self)
    return np.where(_unknown(self), _nan(self.dtype), np.linalg.det(self))


def _unknown(matrices: Any) -> Any:
    """Which matrices hold a NaN: their determinants are NaN, but LAPACK calls some of them singular."""
    return np.isnan(matrices).any((-1, -2))


def _nan(dtype: Any) -> Any:
    return dtype.type(complex(np.nan, np.nan) if dtype.kind == "c" else np.nan)


def _known(self: Any, g: Any, singular: Any = False) -> tuple[Any, Any]:
    """Matrices without those that nothing can invert (they hold a NaN), and gradients that are NaN for them."""
    unknown = _unknown(raw(self)) | singular
    if not unknown.any():
        return self, g
    one, spoilt = np.eye(self.shape[-1], dtype=raw(self).dtype), np.where(unknown, np.nan, 1.0)
    spoilt = spoilt.astype(raw(g).dtype)
    if not isinstance(self, TensorBase):
        return np.where(unknown[..., None, None], one, self), g * spoilt
    return F._where(wrap(unknown[..., None, None]), wrap(one), self), g * wrap(spoilt)


def _last_two(g: Any) -> Any:
    return F.unsqueeze(F.unsqueeze(g, -1), -1)


def _det_back(g: Any, self: Any, result: Any) -> Any:
    if 0 in self.shape:
        return F.zeros_like(self)
    absent = getattr(self, "_array", None).__class__ is AbsentMemory
    self, g = (self, g) if absent else _known(self, g)
    if absent or _is_invertible(raw(self), raw(result)):
        return adjoint(F._inv(self)) * _last_two(g * conj(result))
    return _cofactors(self) * _last_two(g)


def _is_invertible(values: Any, determinant: Any) -> bool:
    """Whether determinants are not so small that dividing by them would say nothing."""
    sizes = np.abs(values).max((-1, -2)) ** values.shape[-1]
    return not bool((np.abs(determinant) <= sizes * np.finfo(values.dtype).eps * 10).any())


def _cofactors(self: Any) -> Any:
    """Conjugated cofactors by singular values, which also holds for singular matrices."""
    u, s, vh = F._svd(self, False)
    turn = F._det(u) * F._det(vh)
    others = product_of_others(s, len(s.shape) - 1)
    return F._matmul(u * F.unsqueeze(others * F.ones_like(s), -2), vh) * _last_two(conj(turn))


function("_det", _det, node="LinalgDetBackward0", self=_det_back)


def _slogdet(self: Any) -> Any:
    check_square("linalg.slogdet", self)
    sign, log = np.linalg.slogdet(self)
    unknown, no_sign = _unknown(self), _nan(self.dtype) if self.dtype.kind == "c" else self.dtype.type(0)
    return np.where(unknown, no_sign, sign), np.where(unknown, log.dtype.type(np.nan), log)


def _slogdet_back(g: Any, self: Any, result: Any) -> Any:
    turn, grow = g
    if raw(result[0]).dtype.kind == "c":
        grow = F._complex(grow, -F.imag(conj(turn) * result[0]))
    self, grow = _known(self, grow, np.isneginf(raw(result[1])))
    return adjoint(F._inv(self)) * _last_two(grow)


function("_slogdet", _slogdet, node="LinalgSlogdetBackward0", outputs=2, self=_slogdet_back)


# -- Cholesky


def _cholesky(self: Any, upper: bool = False) -> Any:
    check_square("linalg.cholesky", self)
    half = self.mT.conj() if upper else self
    try:
        lower = np.linalg.cholesky(half)
    except np.linalg.LinAlgError:
        raise _not_positive(half) from None
    if np.isnan(np.diagonal(lower, axis1=-2, axis2=-1)).any():  # NumPy lets NaN pass, LAPACK does not
        raise _not_positive(half)
    return np.ascontiguousarray(lower.mT.conj()) if upper else lower


def _not_positive(self: Any) -> LinAlgError:
    return LinAlgError(
        "linalg.cholesky: The factorization could not be completed because the input is not positive-definite "
        f"(the leading minor of order {bad_minor(self)} is not positive-definite)."
    )


def is_positive_definite(matrix: Any) -> bool:
    """Whether one matrix has a Cholesky factor."""
    try:
        return not np.isnan(np.diagonal(np.linalg.cholesky(matrix))).any()
    except np.linalg.LinAlgError:
        return False


def bad_minor(a: Any) -> int:
    """The order of the first leading minor that is not positive."""
    for matrix in a.reshape(-1, *a.shape[-2:]):
        for k in range(1, a.shape[-1] + 1):
            if not is_positive_definite(matrix[:k, :k]):
                return k
    return a.shape[-1]  # type: ignore[no-any-return]


def begun_factor(matrix: Any, order: int) -> Any:
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
    phi = (phi + adjoint(F.tril(phi, -1))) * 0.5
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
    self=_cholesky_back,
    jvp=_cholesky_jvp,
    layout="columns",
)
function("_cholesky_old", _cholesky, node="CholeskyBackward0", self=_cholesky_back, layout="columns")


def _cholesky_solve(self: Any, input2: Any, upper: bool = False) -> Any:
    part = np.triu(input2) if upper else np.tril(input2)
    full = part.mT.conj() @ part if upper else part @ part.mT.conj()
    return np.linalg.solve(full, self)


def _cholesky_solve_back(g: Any, needs: Any, input2: Any, upper: bool, result: Any, self_sizes: Any) -> Any:
    side = F.cholesky_solve(g, input2, upper)
    both = F._matmul(side, adjoint(result))
    both = both + adjoint(both)
    factor = F._matmul(input2, -both) if upper else F._matmul(-both, input2)
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
    return np.linalg.inv(part.mT.conj() @ part if upper else part @ part.mT.conj())


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
