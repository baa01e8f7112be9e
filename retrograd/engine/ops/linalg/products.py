"""Products of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.argument_checks import held
from ...core.base import wrap
from ...core.dtypes import c_name, scalar_name
from ...core.registry import F
from ...execution.fit import is_expandable_to
from ...kernels.halves import rounded_once
from ...kernels.matrices import LONG, SMALL, matrix_product
from ...kernels.sums import inner_product, summed
from ...table.rows import linear, multilinear
from ..pointwise.arithmetic import check_factor, conj, scaled
from ..reductions.reduce import axes_of
from ..shapes.shape import expanded

# Products of two matrices, of a matrix and a vector, of batches: `mm`, `mv`, `bmm`, `outer`, `addmm`.


def require(condition: bool, message: str) -> None:
    """``RuntimeError`` with this message unless the condition holds."""
    if not condition:
        raise RuntimeError(message)


def _mm(self: Any, mat2: Any) -> Any:
    """Matrix product of two matrices."""
    if self.ndim != 2 or mat2.ndim != 2 or self.dtype is not mat2.dtype:
        require(self.ndim == 2 and mat2.ndim == 2, "mat1 and mat2 must be matrices: self must be a matrix")
        _same_dtype(self, mat2)
    try:
        if self.__class__ is not np.ndarray:
            return self @ mat2
        if self.shape[0] * mat2.shape[1] <= SMALL and self.shape[1] <= LONG:
            return self.dot(mat2)  # as ``matrix_product``, without a call (0.3 µs in the middle of a program)
        return matrix_product(self, mat2)
    except ValueError:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({self.shape[0]}x{self.shape[1]} and "
            f"{mat2.shape[0]}x{mat2.shape[1]})"
        ) from None


def _same_dtype(a: Any, b: Any) -> None:
    if a.dtype is not b.dtype and a.dtype != b.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {c_name(a.dtype)} != {c_name(b.dtype)}"
        )


def _left(g: Any, right: Any, by_columns: bool) -> Any:
    """Gradient of the left factor, laid out as that is: transposed again (``w.t()``), it lies by rows like ``w``."""
    return F.t(F.mm(right, F.t(g))) if by_columns else F.mm(g, F.t(right))


def _right(g: Any, left: Any, by_columns: bool) -> Any:
    """Gradient of the right factor, laid out as that is."""
    return F.t(F.mm(F.t(g), left)) if by_columns else F.mm(F.t(left), g)


multilinear(
    "mm", _mm, promote="", ndim=2,
    self=lambda g, mat2, self_by_columns: _left(g, conj(mat2), self_by_columns),
    mat2=lambda g, self, mat2_by_columns: _right(g, conj(self), mat2_by_columns),
    kinds="fciu",
)  # fmt: skip


def bmm(self: Any, mat2: Any) -> Any:
    """Batched matrix product of two 3-d tensors."""
    require(self.ndim == 3 and mat2.ndim == 3, "batch1 must be a 3D tensor")
    _same_dtype(self, mat2)
    sizes, others = self.shape, mat2.shape
    if sizes[0] != others[0] or sizes[2] != others[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{sizes[0]}, {sizes[2]}] but "
            f"got: [{others[0]}, {others[1]}]."
        )
    return np.matmul(self, mat2)


multilinear(
    "bmm", bmm, promote="", ndim=3,
    self=lambda g, mat2: F.bmm(g, F.transpose(conj(mat2), 1, 2)),
    mat2=lambda g, self: F.bmm(F.transpose(conj(self), 1, 2), g),
    kinds="fciu",
)  # fmt: skip


def mv(self: Any, vec: Any) -> Any:
    """Matrix times vector."""
    require(self.ndim == 2 and vec.ndim == 1, "vector + matrix @ vector expected")
    require(
        self.dtype == vec.dtype,
        f"addmv input tensors must have the same dtype, but got {scalar_name(vec.dtype)} and {scalar_name(self.dtype)}",
    )
    require(
        self.shape[1] == vec.shape[0],
        f"size mismatch, got input ({self.shape[0]}), mat ({self.shape[0]}x{self.shape[1]}), vec ({vec.shape[0]})",
    )
    return matrix_product(self, vec[:, None])[:, 0] if self.shape[1] > LONG else self @ vec


def outer(self: Any, vec2: Any) -> Any:
    """Outer product of two vectors."""
    return np.multiply.outer(self, vec2)


multilinear(
    "mv", mv, promote="",
    self=lambda g, vec: F._outer(g, conj(vec)),
    vec=lambda g, self: F.mv(F.t(conj(self)), g),
    kinds="fciu",
)  # fmt: skip
multilinear(
    "_outer", outer, node="MulBackward0", promote="common",
    self=lambda g, vec2: F.mv(g, conj(vec2)),
    vec2=lambda g, self: F.mv(F.t(g), conj(self)),
)  # fmt: skip


def require_vectors(self: Any, other: Any) -> None:
    """``RuntimeError`` unless both are vectors of one length and dtype."""
    require(self.ndim == 1 and other.ndim == 1, f"1D tensors expected, but got {self.ndim}D and {other.ndim}D tensors")
    require(
        self.dtype == other.dtype,
        f"dot : expected both vectors to have same dtype, but found {scalar_name(self.dtype)} and "
        f"{scalar_name(other.dtype)}",
    )
    require(
        self.shape == other.shape,
        f"inconsistent tensor size, expected tensor [{self.shape[0]}] and src [{other.shape[0]}] to have the same "
        "number of elements",
    )


def _dot(self: Any, tensor: Any) -> Any:
    """Inner product of two vectors."""
    require_vectors(self, tensor)
    return inner_product(self, tensor)


multilinear(
    "dot",
    _dot,
    promote="",
    self=lambda g, tensor: g * conj(tensor),
    tensor=lambda g, self: g * conj(self),
    kinds="fciu",
)


def _unusual_product(self: Any, mat1: Any, mat2: Any) -> Any:
    """The product of matrices whose dtypes or sizes may not fit, after what ``addmm`` says of dtypes."""
    for name, other in (("self", self), ("mat1", mat1)):
        if other.dtype != mat2.dtype:
            have = f"{scalar_name(other.dtype)} and {scalar_name(mat2.dtype)}"
            raise RuntimeError(f"{name} and mat2 must have the same dtype, but got {have}")
    return _mm(mat1, mat2)


def addmm_of_arrays(self: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * self + alpha * (mat1 @ mat2)``."""
    if mat1.dtype.char == "e":
        return _addmm_of_halves(self, mat1, mat2, beta, alpha)
    usual = mat1.ndim == 2 == mat2.ndim and mat1.dtype is mat2.dtype and mat1.shape[1] == mat2.shape[0]
    product = (
        matrix_product(mat1, mat2) if usual else _unusual_product(self, mat1, mat2)
    )  # (a call is 1 µs after large arrays)
    if alpha != 1:
        product = product * held(alpha, product.dtype)
    if beta == 0:
        return product
    if self.dtype is not product.dtype and self.dtype != product.dtype:
        have = f"{scalar_name(self.dtype)} and {scalar_name(product.dtype)}"
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {have}")
    bias = self if beta == 1 else self * held(beta, product.dtype)
    try:
        product += bias
    except ValueError:
        expanded(bias, product.shape)  # says what does not fit
        raise
    return product


_addmm_of_halves = rounded_once(operands=3)(addmm_of_arrays)


def _back(g: Any, factor: Any) -> Any:
    return scaled(g, conj(factor))


def product_added_jvp(product: Any) -> Any:
    """The forward-mode rule of ``beta * self + alpha * product(a, b)``."""

    def jvp(primal: Any, tangents: Any, results: Any) -> Any:
        _, a, b, beta, alpha = primal
        total = wrap(np.zeros(results[0]._sig.shape, results[0]._sig.numpy))
        if 0 in tangents:
            total = total + scaled(tangents[0], beta)
        if 1 in tangents:
            total = total + scaled(product(tangents[1], b), alpha)
        if 2 in tangents:
            total = total + scaled(product(a, tangents[2]), alpha)
        return total

    return jvp


multilinear(
    "addmm", addmm_of_arrays, promote="", ndim=2,
    self=lambda g, beta: _back(g, beta),
    mat1=lambda g, mat2, alpha, mat1_by_columns: _back(_left(g, conj(mat2), mat1_by_columns), alpha),
    mat2=lambda g, mat1, alpha, mat2_by_columns: _back(_right(g, conj(mat1), mat2_by_columns), alpha),
    jvp=product_added_jvp(lambda a, b: F.mm(a, b)),
    kinds="fciu",
)  # fmt: skip


# Products of batches and vectors: `matmul`, products added to a tensor, `vdot`, `cross`, `trace`.


def adjoint(x: Any) -> Any:
    """Conjugate transpose of matrices, of tensors as of arrays."""
    return conj(F.transpose(x, -2, -1))


multilinear(
    "_matmul", lambda self, other: np.matmul(self, other), node="MatmulBackward0", promote="",
    self=lambda g, self_sizes, other: F.sum_to_size(F._matmul(g, adjoint(other)), tuple(self_sizes)),
    other=lambda g, other_sizes, self: F.sum_to_size(F._matmul(adjoint(self), g), tuple(other_sizes)),
)  # fmt: skip


# -- products with something added


def _plus(bias: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """``beta * bias + alpha * product``; a bias times 0 is not read, so NaN in it does not count."""
    if alpha != 1:
        product = product * held(alpha, product.dtype)
    if beta == 0:
        return product
    if bias.dtype != product.dtype:
        raise RuntimeError(f"self and the product must have the same dtype, but got {bias.dtype} and {product.dtype}")
    if not is_expandable_to(bias.shape, product.shape):
        raise RuntimeError(
            f"The expanded size of the tensor must match: self has shape {list(bias.shape)}, the product "
            f"{list(product.shape)}"
        )
    return product + (bias if beta == 1 else bias * held(beta, product.dtype))


def _bias(g: Any, beta: Any) -> Any:
    return scaled(g, conj(beta))


@rounded_once(operands=3)
def _addmv_once(self: Any, mat: Any, vec: Any, beta: Any, alpha: Any) -> Any:
    return _plus(self, mv(mat, vec), beta, alpha)


def _addmv(self: Any, mat: Any, vec: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * self + alpha * (mat @ vec)``; halves must hold both numbers, which the kernel takes as they are."""
    held(beta, self.dtype), held(alpha, self.dtype)
    return _addmv_once(self, mat, vec, beta, alpha)


multilinear(
    "addmv", _addmv,
    promote="", public=False, inplace=True, jvp=product_added_jvp(lambda a, b: F.mv(a, b)), self=_bias,
    mat=lambda g, vec, alpha: scaled(F._outer(g, conj(vec)), conj(alpha)),
    vec=lambda g, mat, alpha: scaled(F.mv(F.t(conj(mat)), g), conj(alpha)),
    kinds="fciu",
)  # fmt: skip
multilinear(
    "baddbmm", rounded_once(operands=3)(
        lambda self, batch1, batch2, beta=1, alpha=1: _plus(self, bmm(batch1, batch2), beta, alpha)),
    promote="", public=False, inplace=True, jvp=product_added_jvp(lambda a, b: F.bmm(a, b)), self=_bias,
    batch1=lambda g, batch2, alpha: scaled(F.bmm(g, adjoint(batch2)), conj(alpha)),
    batch2=lambda g, batch1, alpha: scaled(F.bmm(adjoint(batch1), g), conj(alpha)),
    kinds="fciu",
)  # fmt: skip


def _spread_batch(g: Any, batch: Any) -> Any:
    return F.expand(F.unsqueeze(g, 0), (batch.shape[0], *g.shape))


multilinear(
    "addbmm", rounded_once(operands=3)(lambda self, batch1, batch2, beta=1, alpha=1: _plus(
        self, summed(bmm(batch1, batch2), (0,)), beta, alpha)),
    promote="", public=False, inplace=True, jvp=product_added_jvp(lambda a, b: F._sum_dim(F.bmm(a, b), 0)), self=_bias,
    keeps="batch1_sizes batch2_sizes",
    batch1=lambda g, batch2, alpha: scaled(F.bmm(_spread_batch(g, batch2), adjoint(batch2)), conj(alpha)),
    batch2=lambda g, batch1, alpha: scaled(F.bmm(adjoint(batch1), _spread_batch(g, batch1)), conj(alpha)),
    kinds="fciu",
)  # fmt: skip


def _addr(self: Any, vec1: Any, vec2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    for name, v in (("vec1", vec1), ("vec2", vec2)):
        require(v.ndim == 1, f"addr: Expected 1-D argument {name}, but got {v.ndim}-D")
    for name, factor in (("beta", beta), ("alpha", alpha)):
        check_factor(name, factor, self.dtype.kind)
    return _plus(self, outer(vec1, vec2), beta, alpha)


multilinear(
    "addr", _addr,
    promote="common", public=False, inplace=True, jvp=product_added_jvp(lambda a, b: F._outer(a, b)), self=_bias,
    vec1=lambda g, vec2, alpha: scaled(F.mv(g, conj(vec2)), conj(alpha)),
    vec2=lambda g, vec1, alpha: scaled(F.mv(F.t(g), conj(vec1)), conj(alpha)),
)  # fmt: skip


# -- vectors


def _vdot(self: Any, other: Any) -> Any:
    """Inner product of two vectors, the first one conjugated."""
    require_vectors(self, other)
    return inner_product(np.conj(self) if self.dtype.kind == "c" else self, other)


multilinear(
    "vdot", _vdot, promote="", self=lambda g, other: conj(g) * other, other=lambda g, self: g * self, kinds="fciu"
)


def _cross(self: Any, other: Any, dim: int = -1) -> Any:
    """Cross product of vectors of three elements along ``dim``."""
    require(
        self.ndim == other.ndim,
        f"linalg.cross: inputs must have the same number of dimensions. Got input with size {list(self.shape)} and "
        f"other with size {list(other.shape)}",
    )
    axis = axes_of(dim, self.ndim)[0]
    require(
        self.shape[axis] == 3 and other.shape[axis] == 3,
        f"linalg.cross: inputs dimension {dim} must have length 3. Got {self.shape[axis]} and {other.shape[axis]}",
    )
    a, b = (np.moveaxis(x, axis, 0) for x in np.broadcast_arrays(self, other))
    out = np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
    return np.ascontiguousarray(np.moveaxis(out, 0, axis))


multilinear(
    "_cross", _cross, node="LinalgCrossBackward0",
    self=lambda g, self_sizes, other, dim: F.sum_to_size(F._cross(conj(other), g, dim), tuple(self_sizes)),
    other=lambda g, other_sizes, self, dim: F.sum_to_size(F._cross(g, conj(self), dim), tuple(other_sizes)),
)  # fmt: skip


def _trace(self: Any) -> Any:
    """Sum of the diagonal of a matrix."""
    require(self.ndim == 2, f"trace: expected a matrix, but got tensor with dim {self.ndim}")
    return np.asarray(np.trace(self, dtype=np.int64 if self.dtype.kind in "biu" else self.dtype))


def _trace_back(g: Any, self_sizes: Any) -> Any:
    return F._diagonal_backward(F.expand(g, (min(self_sizes),)), tuple(self_sizes), 0, 0, 1)


linear("trace", _trace, self=_trace_back, kinds="fciu")
