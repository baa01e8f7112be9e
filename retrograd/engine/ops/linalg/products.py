"""Products of batches and vectors: ``matmul``, products added to a tensor, ``vdot``, ``cross``, ``trace``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...execution.fit import is_expandable_to
from ...kernels.halves import rounded_once
from ...kernels.sums import inner_product, summed
from ...table.registry import F
from ...table.rows import linear, multilinear
from ...tensors.numbers_ import held
from ..pointwise.arithmetic import check_factor, conj, scaled
from ..reductions.reduce import axes_of
from .matrix_products import bmm, mv, outer, product_added_jvp, require, require_vectors


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
