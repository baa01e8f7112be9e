"""Products with torch's overloads."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....aliasing.views import requires_grad
from ....calls.refusals import size_mismatch
from ....table.public import METHODS, check_tensor, public
from ....table.registry import COMPOSITES, F
from ....tensors.base import PLAIN_CLASSES, TensorBase
from ...pointwise.functions.arithmetic import left_to_numpy
from ...shapes.functions.contiguous import contiguous
from ...shapes.functions.reshaping import reshaped


@public("matmul", out=True)
def matmul(input: Any, other: Any) -> Any:  # noqa: A002
    """Matrix product: vectors, matrices and batches, composed of ``dot``, ``mv``, ``mm`` and ``bmm`` as in torch."""
    check_tensor("matmul", input)
    check_tensor("matmul", other, 2, "other")
    return _product(input, other)


def _product(input: Any, other: Any) -> Any:  # noqa: A002
    """``matmul`` of two tensors."""
    a, b = len(input._sig.shape), len(other._sig.shape)
    if a == 0 or b == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D")
    if a == 1 and b == 1:
        return F.dot(input, other)
    if a == 2 and b == 1:
        return F.mv(input, other)
    if a == 1 and b == 2:
        return F.mm(F.unsqueeze(input, 0), other).squeeze_(0)
    if a == 2 and b == 2:
        return F.mm(input, other)
    if a >= 3 and b <= 2:
        return _fold_left(input, other)
    return _fold_right(input, other) if a <= 2 and requires_grad(input) else _batched(input, other)


def _fold_left(input: Any, other: Any) -> Any:  # noqa: A002
    """A batch times one matrix: the batch dimensions join the rows."""
    *batch, width = input._sig.shape
    rows = reshaped(input, (math.prod(batch), width))
    if other._array.ndim == 1:
        return F._unsafe_view(F.mv(rows, other), tuple(batch))
    return F._unsafe_view(F.mm(rows, other), (*batch, other._array.shape[1]))


def _fold_right(input: Any, other: Any) -> Any:  # noqa: A002
    """One matrix (or vector) times a batch, by its transpose: the matrix's gradient is then no batch to be summed."""
    turned = F.transpose(other, -2, -1)
    if input.ndim == 1:
        return _fold_left(turned, input)
    return contiguous(F.transpose(_fold_left(turned, F.t(input)), -2, -1))


def _batched(input: Any, other: Any) -> Any:  # noqa: A002
    """``(*batch, n, k)`` times ``(*batch, k, p)``, batches broadcast, as one ``bmm``; vectors count as matrices."""
    left = F.unsqueeze(input, 0) if input._array.ndim == 1 else input
    right = F.unsqueeze(other, -1) if other._array.ndim == 1 else other
    *left_batch, n, k = left._sig.shape
    *right_batch, m, p = right._sig.shape
    if k != m:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{math.prod(left_batch)}, {k}] but got: "
            f"[{math.prod(right_batch)}, {m}]."
        )
    batch = left_batch if left_batch == right_batch else _common(tuple(left_batch), tuple(right_batch))
    count = math.prod(batch)
    a = reshaped(F.expand(left, (*batch, n, k)), (count, n, k))
    b = reshaped(F.expand(right, (*batch, m, p)), (count, m, p))
    out = F._unsafe_view(F.bmm(a, b), (*batch, n, p))
    if input._array.ndim == 1:
        out = F._squeeze_dim(out, -2)
    return F._squeeze_dim(out, -1) if other._array.ndim == 1 else out


COMPOSITES["_matmul"] = _product


def _common(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    """What the batch dimensions of two operands become; ``RuntimeError`` if they do not broadcast."""
    try:
        return np.broadcast_shapes(left, right)
    except ValueError as error:
        raise size_mismatch([left, right], error) from None


def _at(self: Any, other: Any) -> Any:
    """``self @ other``; two tensors need no look at what ``matmul`` would make of its arguments (1.5 µs)."""
    if isinstance(other, TensorBase):
        if self._array.ndim == 2 == other._array.ndim:
            return F.mm(self, other)
        if other.__class__ in PLAIN_CLASSES and self.__class__ in PLAIN_CLASSES:
            return _product(self, other)
    if isinstance(other, np.ndarray):
        return _at_array(self, other)
    return matmul(self, other) if _has_place(other) else NotImplemented


def _has_place(other: Any) -> bool:
    """Whether a product with it is ours to compute, or to hand on; Python refuses others."""
    return isinstance(other, TensorBase) or hasattr(type(other), "__torch_function__")


_at_array = left_to_numpy("matmul")
METHODS["__matmul__"] = _at
METHODS["__rmatmul__"] = lambda self, other: matmul(other, self) if _has_place(other) else NotImplemented


@public("addmm", out=True, row="addmm")
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:  # noqa: A002
    """``beta * input + alpha * (mat1 @ mat2)``."""
    check_tensor("addmm", input)
    return F.addmm(input, mat1, mat2, beta, alpha)


@public("outer", out=True)
def outer(input: Any, vec2: Any) -> Any:  # noqa: A002
    """Outer product of two vectors."""
    for name, vector in (("self", input), ("vec2", vec2)):
        if vector.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {vector.ndim}-D")
    return F.mul(input.reshape(-1, 1), vec2)


COMPOSITES["_outer"] = outer
