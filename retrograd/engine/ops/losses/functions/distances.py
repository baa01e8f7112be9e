"""Similarities and distances between vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....calls.refusals import refuse
from ....rules.by_number import plus
from ....table.public import NN, check_tensor, public
from ....table.registry import F
from ....tensors.argument_checks import check_scalar_type
from ....tensors.common_dtype import result_dtype
from ....tensors.dtype_names import scalar_name
from ....tensors.narrow import kind_of
from ....tensors.numbers_ import real_argument
from ...reductions.functions.older_norms import norm_along
from ...shapes.functions.broadcasting import broadcast_pair
from .lower_bounds import at_least


def _norm(input: Any, p: float, dim: int) -> Any:  # noqa: A002
    """The ``p``-norm along ``dim``, which stays."""
    return input.norm(p, dim, keepdim=True)


@public("normalize", namespace=NN)
def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> Any:  # noqa: A002
    """``input`` divided by its ``p``-norm along ``dim`` (at least ``eps``)."""
    check_tensor("normalize", input)
    size = F.expand(F._clamp_min(_norm(input, p, dim), eps), tuple(input.shape))
    made = input / size
    return made if out is None else out.copy_(made)


@public("cosine_similarity", method=False)
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between vectors along ``dim``."""
    check_tensor("cosine_similarity", x1, name="x1")
    a, b = x1, x2
    if a._array.shape != b._array.shape:  # both are expanded, also one that has the common shape
        shape = tuple(broadcast_pair(a, b)[0].shape)
        a, b = F.expand(a, shape), F.expand(b, shape)
    common = result_dtype((a._sig.numpy, b._sig.numpy), (), ())
    refuse(
        kind_of(common) != "f",
        f"expected common dtype to be floating point, yet common dtype is {scalar_name(common)}",
    )
    refuse(eps < 0, f"eps must be non-negative, got: {eps}")
    a, b = (t if t._sig.kind == "f" else F._to_copy(t, common) for t in (a, b))
    first, second = (at_least(F._vector_norm(t, 2, dim, True), eps) for t in (a, b))
    return ((a / first) * (b / second)).sum(dim)


@public("pairwise_distance", method=False)
def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The ``p``-norm of ``x1 - x2 + eps`` along the last dimension."""
    check_tensor("pairwise_distance", x1, name="x1")
    away = plus(x1 - x2, eps)
    return norm_along(away, float(p), away.ndim - 1, keepdim)


public("cosine_similarity", namespace=NN)(cosine_similarity)
public("pairwise_distance", namespace=NN)(pairwise_distance)


_COMPUTE_MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
    None,
)


@public("cdist", method=False)
def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Any:
    """The ``p``-distance of each row of ``x1`` from each row of ``x2``."""
    check_tensor("cdist", x1, name="x1")
    if compute_mode not in _COMPUTE_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    if x1.ndim < 2 or x2.ndim < 2:
        raise RuntimeError(f"cdist only supports at least 2D tensors, X1 got: {x1.ndim}D, X2 got: {x2.ndim}D")
    for name, x in (("X1", x1), ("X2", x2)):
        found = scalar_name(x._sig.numpy)
        refuse(x._sig.kind != "f", f"cdist only supports floating-point dtypes, {name} got: {found}")
    check_scalar_type(x2._sig.numpy, x1._sig.numpy)
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if real_argument("cdist", "p", 3, p) < 0:
        raise RuntimeError(f"cdist only supports non-negative p values, got {p}")
    many = max(x1.shape[-2], x2.shape[-2]) > 25 and compute_mode in (None, _COMPUTE_MODES[0])
    if p == 2 and (many or compute_mode == "use_mm_for_euclid_dist") and x1.numel() and x2.numel():
        return _by_products(x1, x2)
    return F._cdist(x1, x2, float(p))


def _by_products(x1: Any, x2: Any) -> Any:
    """Euclidean distances by products of matrices, in as many dimensions as PyTorch's node has."""
    batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    flat = [
        F._view(F.expand(x, (*batch, *x.shape[-2:])).contiguous(), (-1, *x.shape[-2:])) if batch else x
        for x in (x1, x2)
    ]
    return F._view(F._euclidean_dist(*flat), (*batch, x1.shape[-2], x2.shape[-2]))


@public("pdist", method=False)
def pdist(input: Any, p: float = 2.0) -> Any:  # noqa: A002
    """The ``p``-distances of all pairs of rows."""
    check_tensor("pdist", input)
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    refuse(input._sig.kind != "f", "pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return F._pdist(input.contiguous(), float(p))


public("pdist", namespace=NN)(pdist)
