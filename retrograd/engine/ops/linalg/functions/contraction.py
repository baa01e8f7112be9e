"""Products summed over chosen dimensions, and others composed of simpler ones as in torch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....calls.out_rules import Out
from ....deprecations import discourage
from ....table.public import check_tensor, public
from ....table.registry import F
from ....tensors.argument_checks import check_scalar_type
from ....tensors.dtype_names import scalar_name
from ...shapes.functions.sizes import ints_of
from .checks import check_same_dtype
from .products import matmul


@public("tensordot", method=False, out=Out(exact=True, copied=True))
def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """Products summed over dimensions of two tensors: the last ``dims`` of ``a`` and first of ``b``, or two lists."""
    left, right = _summed_dims(a, b, dims)
    a, b = _of_one_size(a, b, left, right)
    rest_a, rest_b = [d for d in range(a.ndim) if d not in left], [d for d in range(b.ndim) if d not in right]
    inner = math.prod(a.shape[d] for d in left)
    shape = (*(a.shape[d] for d in rest_a), *(b.shape[d] for d in rest_b))
    a, b = F._permute(a, (*rest_a, *left)), F._permute(b, (*right, *rest_b))
    if not shape:
        a, b = (t if t.ndim == 1 else t.reshape(inner) for t in (a, b))
        return F._view(F.dot(a, b), ())
    rows, columns = math.prod(a.shape[: len(rest_a)]), math.prod(b.shape[len(right) :])
    return F._view(F.mm(a.reshape(rows, inner), b.reshape(inner, columns)), shape)


def _summed_dims(a: Any, b: Any, dims: Any) -> tuple[list[int], list[int]]:
    """The dimensions of ``a``, and those of ``b``, that ``tensordot`` sums over; ``RuntimeError`` if it cannot."""
    if isinstance(dims, (int, np.integer)):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return list(range(a.ndim - int(dims), a.ndim)), list(range(int(dims)))
    left, right = (ints_of((side,)) for side in (dims.tolist() if hasattr(dims, "tolist") else dims))
    if len(left) != len(right):
        raise RuntimeError("both dimension lists should have same length")
    return [d % max(a.ndim, 1) for d in left], [d % max(b.ndim, 1) for d in right]


def _of_one_size(a: Any, b: Any, left: list[int], right: list[int]) -> tuple[Any, Any]:
    """Operands whose summed dimensions have equal sizes: where one has size 1, the other is summed beforehand."""
    for d, e in zip(left, right, strict=True):
        if a.shape[d] == 1 or b.shape[e] == 1:
            a, b = _summed(a, d), _summed(b, e)
        elif a.shape[d] != b.shape[e]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[d]} in dim {d} and second has size "
                f"{b.shape[e]} in dim {e}"
            )
    return a, b


def _summed(t: Any, dim: int) -> Any:
    """Summed along a dimension in the dtype that it has."""
    if t.shape[dim] == 1:
        return t
    total = F._sum_dim(t, dim, True)
    return total if total._sig.numpy == t._sig.numpy else F._to_copy(total, t._sig.numpy)


@public("inner", out=Out(exact=True, copied=True))
def inner(input: Any, other: Any) -> Any:  # noqa: A002
    """Products summed over the last dimensions."""
    check_tensor("inner", input)
    check_tensor("inner", other, 2, "other")
    if input.ndim == 0 or other.ndim == 0:
        return F.mul(input, other)
    if input._sig.numpy != other._sig.numpy:
        raise RuntimeError(
            f"both inputs should have same dtype, but got {scalar_name(input._sig.numpy)} and "
            f"{scalar_name(other._sig.numpy)}"
        )
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    return tensordot(input, other, ([-1], [-1]))


@public("kron", out=True)
def kron(input: Any, other: Any) -> Any:  # noqa: A002
    """Kronecker product."""
    ndim = max(input.ndim, other.ndim)
    a = (1,) * (ndim - input.ndim) + tuple(input.shape)
    b = (1,) * (ndim - other.ndim) + tuple(other.shape)
    left = F._unsafe_view(input, tuple(n for m in a for n in (m, 1)))
    right = F._unsafe_view(other, tuple(n for m in b for n in (1, m)))
    return F._unsafe_view(F.mul(left, right), tuple(n * m for n, m in zip(a, b, strict=True)))


public("matmul", namespace="linalg", out=True)(matmul)


@public("cross", out=True)
def cross(input: Any, other: Any, dim: Any = None) -> Any:  # noqa: A002
    """Cross product along ``dim`` (by default the first one of size 3)."""
    if dim is None:
        discourage("cross")
        dim = next((d for d, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return linalg_cross(input, other, dim=dim)


@public("cross", namespace="linalg", out=True)
def linalg_cross(input: Any, other: Any, *, dim: int = -1) -> Any:  # noqa: A002
    """Cross product along ``dim``."""
    check_scalar_type(other._sig.numpy, input._sig.numpy)
    return F._cross(input, other, dim)


@public("vecdot", namespace="linalg", out=True)
def vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    """Inner products along ``dim``, the first operand conjugated."""
    check_tensor("linalg.vecdot", x, name="x")
    check_tensor("linalg.vecdot", y, 2, "y")
    if x._sig.kind not in "fc":
        raise RuntimeError(
            f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {scalar_name(x._sig.numpy)}"
        )
    check_same_dtype("linalg.vecdot: Expected x and y", ("x", x), ("y", y))
    if x.ndim == y.ndim == 1:
        return F.vdot(x, y)
    return F._sum_dim(F.mul(F.conj(x) if x._sig.kind == "c" else x, y), dim)


@public("diagonal", namespace="linalg")
def linalg_diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:  # noqa: N803
    """The diagonal of matrices."""
    return F.diagonal(A, offset, dim1, dim2)
