"""Norms of vectors and of all elements."""

from __future__ import annotations

from typing import Any

from ....calls.out_rules import Out
from ....table.public import check_tensor, public
from ....table.registry import F
from ....tensors.base import TensorBase
from ...linalg.functions.matrix_norms import nuclear_norm
from .older_norms import norm_along


@public("vector_norm", namespace="linalg", out=True)
def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: A002
    """The ``ord``-norm of vectors; without ``dim``, of all elements."""
    check_tensor("linalg_vector_norm", x)
    return F._vector_norm(x, _number(ord), dim if not isinstance(dim, list) else tuple(dim), keepdim, dtype)


def _number(order: Any) -> Any:
    order = order.item() if isinstance(order, TensorBase) else order
    return order if isinstance(order, (int, float, complex)) else float(order)


@public("norm", out=Out(exact=True))
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:  # noqa: A002
    """The ``p``-norm of all elements or along ``dim``; ``"nuc"`` sums singular values."""
    check_tensor("norm", input)
    dim = tuple(dim) if isinstance(dim, (list, tuple)) else dim
    if p == "nuc":
        return nuclear_norm(input, dim, keepdim)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    if p == "fro" and isinstance(dim, tuple) and len(dim) > 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    order = 2 if p in ("fro", None) else _number(p)
    if input.is_sparse and not dim:
        input = input.coalesce().values()  # noqa: A001
    return F._vector_norm(input, order, dim, keepdim, dtype)


@public("frobenius_norm", method=False, out=True)
def frobenius_norm(input: Any, dim: Any, keepdim: bool = False) -> Any:  # noqa: A002
    """The square root of the sum of squares."""
    if not isinstance(dim, int) and len(dim) > 2:
        raise RuntimeError(f"Expected at most 2 dimensions, but got {len(dim)} dimensions instead.")
    return norm_along(input, 2.0, dim, keepdim)
