"""Margin losses, losses of embeddings, similarities and distances between vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....calls.inert import refuse_gradients
from ....calls.refusals import refuse
from ....core.absent import known_values
from ....core.argument_checks import check_scalar_type, real_argument
from ....core.dtypes import result_dtype, scalar_name
from ....core.narrow import kind_of
from ....core.registry import F
from ....rules.by_number import minus, plus
from ....switches.state import STATE, set_grad_enabled_here
from ....table.public import NN, check_tensor, public
from ...reductions.functions.summaries import norm_along
from ...shapes.functions.broadcasting import broadcast_pair
from .losses import check_reduction, reduced, reduction_of

# Bounds a divisor away from zero.


def at_least(values: Any, bound: float) -> Any:
    """A copy limited from below to ``bound``; the gradient passes unchanged."""
    limited = values.clone()
    grad = STATE.grad_enabled
    set_grad_enabled_here(False)
    try:
        limited.clamp_(min=bound)
    finally:
        set_grad_enabled_here(grad)
    return limited


# Similarities and distances between vectors.


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


# Margin losses and losses of embeddings.

EMBEDDING_EPS = 1e-12


def _positive(loss: Any) -> Any:
    return F._clamp_min(loss, 0)


def _check_scores(x: Any, target: Any) -> None:
    """``RuntimeError`` unless scores are ``(N, C)`` or ``(C,)`` and targets are class numbers."""
    refuse(
        x.ndim > 2 or (x.ndim and not x.shape[-1]),
        f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(x.shape)}",
    )
    check_scalar_type(target._sig.numpy, np.int64)


@public("hinge_embedding_loss", namespace=NN)
def hinge_embedding_loss(
    input: Any, target: Any, margin: float = 1.0, size_average: Any = None, reduce: Any = None,  # noqa: A002
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """``x`` where the target is 1, ``max(0, margin - x)`` where it is -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    check_tensor("hinge_embedding_loss", input)
    check_tensor("hinge_embedding_loss", target, 2, "target")
    nothing = F.zeros_like(input)
    real_argument("hinge_embedding_loss", "margin", 3, margin)
    margin = int(margin) if input._sig.kind in "iu" else margin
    apart = F._where(target != 1, _positive(F.sub(margin, input)), nothing)
    return reduced(apart + F._where(target != -1, input, nothing), reduction)


@public("margin_ranking_loss", namespace=NN)
def margin_ranking_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """``max(0, -target * (input1 - input2) + margin)``."""
    reduction = reduction_of(reduction, size_average, reduce)
    check_tensor("margin_ranking_loss", input1, name="input1")
    real_argument("margin_ranking_loss", "margin", 4, margin)
    if input1.ndim != input2.ndim or input1.ndim != target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return reduced(_positive(plus(-target * (input1 - input2), float(margin))), reduction)


@public("multi_margin_loss", namespace=NN)
def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, size_average: Any = None,  # noqa: A002
    reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Mean over the classes of ``max(0, margin - x[y] + x[i]) ** p``."""
    reduction = reduction_of(reduction, size_average, reduce)
    check_tensor("multi_margin_loss", input)
    check_tensor("multi_margin_loss", target, 2, "target")
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    refuse_gradients("multi_margin_loss", weight=weight)
    _check_scores(input, target)
    rows = input.shape[0] if input.ndim > 1 else 1
    refuse(
        target.ndim > 1 or target.numel() != rows,
        "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
        f"Expected target size [{rows}], but got {list(target.shape)}. Input has shape {list(input.shape)}.",
    )
    if weight is not None:
        classes = input.shape[-1] if input.ndim else 1
        refuse(weight.numel() != classes, f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
        check_scalar_type(weight._sig.numpy, input._sig.numpy)
    return F._multi_margin_loss(input, target, p, margin, weight, reduction)


@public("multilabel_margin_loss", namespace=NN)
def multilabel_margin_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean",  # noqa: A002
) -> Any:  # fmt: skip
    """Hinge between the classes listed in ``target`` (up to the first -1) and all others."""
    reduction = reduction_of(reduction, size_average, reduce)
    check_tensor("multilabel_margin_loss", input)
    if tuple(input.shape) != tuple(target.shape):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    _check_scores(input, target)
    classes = input.shape[-1] if input.ndim else 1
    named = known_values(target)
    refuse(
        bool(((named < -1) | (named >= classes)).any()),
        f"argument #2 'target' is out of range: classes are 0 to {classes - 1}, and -1 ends the list",
    )
    return F._multilabel_margin_loss(input, target, reduction)


@public("multilabel_soft_margin_loss", namespace=NN)
def multilabel_soft_margin_loss(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None,  # noqa: A002
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """Mean over the classes of the binary cross entropies of ``sigmoid(input)``."""
    reduction = reduction_of(reduction, size_average, reduce)
    check_tensor("multilabel_soft_margin_loss", input)
    loss = -(target * F.logsigmoid(input) + (1 - target) * F.logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    classes = input.ndim - 1  # also where the target has more dimensions
    return reduced(loss.sum(classes) / input.shape[classes], reduction)


@public("cosine_embedding_loss", namespace=NN)
def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    check_tensor("cosine_embedding_loss", input1, name="input1")
    if target.ndim + 1 != input1.ndim or input1.ndim != input2.ndim or input1.ndim > 2:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    dim = input1.ndim - 1
    product = (input1 * input2).sum(dim)
    sizes = plus((input1 * input1).sum(dim), EMBEDDING_EPS) * plus((input2 * input2).sum(dim), EMBEDDING_EPS)
    cosine = product / F.sqrt(sizes)
    zeros = F.zeros_like(cosine)
    near = F._where(target == 1, F.sub(1, cosine), zeros)
    return reduced(near + F._where(target == -1, _positive(minus(cosine, margin)), zeros), reduction)


@public("triplet_margin_loss", namespace=NN)
def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
    swap: bool = False, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``."""
    reduction = reduction_of(reduction, size_average, reduce)
    check_tensor("triplet_margin_loss", anchor, name="anchor")
    _check_triplet(anchor, positive, negative)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")

    def distance(a: Any, b: Any) -> Any:
        return pairwise_distance(a, b, p, eps)

    near, far = _near_and_far(anchor, positive, negative, distance, swap)
    return reduced(_positive(plus(near, margin) - far), reduction)


def _check_triplet(anchor: Any, positive: Any, negative: Any) -> None:
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )


def _near_and_far(
    anchor: Any, positive: Any, negative: Any, distance: Callable[[Any, Any], Any], swap: bool
) -> tuple[Any, Any]:
    """The distances of a triplet; with ``swap`` the negative's is that of the nearer one of the others."""
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = F.minimum(far, distance(positive, negative))
    return near, far


@public("triplet_margin_with_distance_loss", namespace=NN)
def triplet_margin_with_distance_loss(
    anchor: Any, positive: Any, negative: Any, *, distance_function: Callable[[Any, Any], Any] | None = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> Any:  # fmt: skip
    """The triplet loss with a distance of one's own (default: the Euclidean one)."""
    check_reduction(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    _check_triplet(anchor, positive, negative)
    near, far = _near_and_far(anchor, positive, negative, distance_function or pairwise_distance, swap)
    return reduced(_positive(margin + near - far), reduction)
