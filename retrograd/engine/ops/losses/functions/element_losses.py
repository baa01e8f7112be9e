"""Losses of torch.nn.functional that compare input and target element by element, also with numbered reductions."""

from __future__ import annotations

import math
from typing import Any

from ....calls.inert import refuse_gradients
from ....calls.promotion import stand_in
from ....calls.refusals import refuse
from ....core.argument_checks import real_argument
from ....core.base import TensorBase
from ....core.dtypes import get_default_dtype, scalar_name
from ....core.narrow import kind_of
from ....core.registry import F
from ....rules.by_number import plus, times
from ....table.public import NAMESPACES, NN, check_tensor, public
from ....warning import warn
from ...shapes.functions.broadcasting import broadcast_pair
from .losses import check_reduction, reduced, reduction_of
from .margin_losses import at_least

# Losses of `torch.nn.functional` that compare input and target element by element.


def same_shapes(name: str, input: Any, target: Any) -> tuple[Any, Any]:  # noqa: A002
    """Input and target in their common shape; a warning when they had different ones."""
    check_tensor(name, input)
    check_tensor(name, target, 2, "target")
    if tuple(input.shape) == tuple(target.shape):
        return input, target
    warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely "
        "lead to incorrect results due to broadcasting. Please ensure they have the same size."
    )
    return broadcast_pair(input, target)


@public("l1_loss", namespace=NN)
def l1_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean",  # noqa: A002
    weight: Any = None,
) -> Any:  # fmt: skip
    """Absolute difference."""
    reduction = reduction_of(reduction, size_average, reduce)
    x, y = same_shapes("l1_loss", input, target)
    return weighted(F.abs(x - y), weight, reduction)


def weighted(loss: Any, weight: Any, reduction: str) -> Any:
    """A loss times its weights; the mean is then the weighted one."""
    if weight is None:
        return reduced(loss, reduction)
    if tuple(weight.shape) != tuple(loss.shape):
        raise ValueError("Weights and input must have the same size.")
    if reduction == "mean":
        return (loss * weight).sum() / weight.sum()
    return reduced(loss * weight, reduction)


@public("mse_loss", namespace=NN)
def mse_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean",  # noqa: A002
    weight: Any = None,
) -> Any:  # fmt: skip
    """Squared difference."""
    reduction = reduction_of(reduction, size_average, reduce)
    x, y = same_shapes("mse_loss", input, target)
    if weight is not None:
        return weighted((x - y).pow(2), weight, reduction)
    return F._mse_loss(x, y, reduction)


@public("smooth_l1_loss", namespace=NN)
def smooth_l1_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean",  # noqa: A002
    beta: float = 1.0,
) -> Any:  # fmt: skip
    """Squared difference (over ``2 beta``) up to ``beta``, absolute difference beyond."""
    reduction = reduction_of(reduction, size_average, reduce)
    x, y = same_shapes("smooth_l1_loss", input, target)
    if not real_argument("smooth_l1_loss", "beta", 4, beta) >= 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta, got {beta}.")
    if beta == 0.0:
        return l1_loss(x, y, reduction=reduction)
    return F._smooth_l1_loss(x, y, reduction, beta)


@public("huber_loss", namespace=NN)
def huber_loss(
    input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None,  # noqa: A002
) -> Any:  # fmt: skip
    """Half the squared difference up to ``delta``, ``delta`` times the absolute one beyond."""
    reduction = reduction_of(reduction, None, None)
    x, y = same_shapes("huber_loss", input, target)
    if not real_argument("huber_loss", "delta", 4, delta) > 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta, got {delta}.")
    if weight is not None:
        return reduced(F._huber_loss(x, y, "none", delta) * weight, reduction)
    return _held_by(input, F._huber_loss(x, y, reduction, delta))


def _held_by(operand: Any, loss: Any) -> Any:
    """A loss that PyTorch computes into memory for numbers like those of an operand, if that can hold it."""
    want, have = operand._sig.numpy, loss._sig.numpy
    if kind_of(want) != kind_of(have):
        raise RuntimeError(
            f"result type {scalar_name(have)} can't be cast to the desired output type {scalar_name(want)}"
        )
    return loss if have == want else stand_in(loss, want)


@public("soft_margin_loss", namespace=NN)
def soft_margin_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean",  # noqa: A002
) -> Any:  # fmt: skip
    """``log(1 + exp(-target * input))`` for targets of -1 and 1."""
    reduction = reduction_of(reduction, size_average, reduce)
    check_tensor("soft_margin_loss", input)
    refuse_gradients("soft_margin_loss", target=target)
    return _held_by(input, F._soft_margin_loss(*broadcast_pair(input, target), reduction))


# -- probabilities


@public("binary_cross_entropy", namespace=NN)
def binary_cross_entropy(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None,  # noqa: A002
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """Cross entropy of probabilities with targets in ``[0, 1]``; logarithms are limited to -100."""
    reduction = reduction_of(reduction, size_average, reduce)
    check_tensor("binary_cross_entropy", input)
    if tuple(input.shape) != tuple(target.shape):
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    weight = None if weight is None else weight.expand(tuple(input.shape))
    refuse_gradients("binary_cross_entropy", weight=weight)
    have, want = target._sig.numpy, input._sig.numpy
    refuse(have != want, f"Found dtype {scalar_name(have)} but expected {scalar_name(want)}")
    return F._binary_cross_entropy(input, target, weight, reduction)


@public("binary_cross_entropy_with_logits", namespace=NN)
def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None,  # noqa: A002
    reduction: str = "mean", pos_weight: Any = None,
) -> Any:  # fmt: skip
    """Binary cross entropy of the sigmoid of ``input``, without overflow."""
    reduction = reduction_of(reduction, size_average, reduce)
    check_tensor("binary_cross_entropy_with_logits", input)
    if tuple(input.shape) != tuple(target.shape):
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    refuse_gradients("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    return _held_by(target, F._bce_with_logits(input, target, weight, pos_weight, reduction))


_KL_REDUCTIONS = ("none", "mean", "sum", "batchmean")


@public("kl_div", namespace=NN)
def kl_div(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean",  # noqa: A002
    log_target: bool = False,
) -> Any:  # fmt: skip
    """Kullback-Leibler divergence of ``input`` (logarithms of probabilities) from ``target``."""
    check_tensor("kl_div", input)
    check_tensor("kl_div", target, 2, "target")
    for t in (input, target):
        if t._sig.kind != "f":
            kind = "Complex" if t._sig.kind == "c" else "Integral"
            raise RuntimeError(f"kl_div: {kind} inputs not supported.")
    check_reduction(reduction, _KL_REDUCTIONS)
    if size_average is not None or reduce is not None:
        reduction = reduction_of(reduction, size_average, reduce)
    if reduction == "mean":
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition."
        )
    loss = F.exp(target) * (target - input) if log_target else F._xlogy(target, target) - target * input
    if reduction == "batchmean":
        return loss.sum() / input.shape[0] if input.ndim else loss.sum()
    return reduced(loss, reduction)


@public("poisson_nll_loss", namespace=NN)
def poisson_nll_loss(
    input: Any, target: Any, log_input: bool = True, full: bool = False, size_average: Any = None,  # noqa: A002
    eps: float = 1e-8, reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Negative log likelihood of counts under a Poisson distribution of rate ``input`` (or its exponential)."""
    reduction = reduction_of(reduction, size_average, reduce)
    check_tensor("poisson_nll_loss", input)
    real_argument("poisson_nll_loss", "eps", 5, eps)
    product = target * (input if log_input else F.log(plus(input, eps)))
    loss = (F.exp(input) if log_input else input) - product
    if full:
        stirling = target * F.log(target) - target + times(F.log(times(target, 2 * math.pi)), 0.5)
        loss = loss + F.masked_fill(stirling, target <= 1, 0)
    return reduced(loss, reduction)


@public("gaussian_nll_loss", namespace=NN)
def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean",  # noqa: A002
) -> Any:  # fmt: skip
    """Negative log likelihood under a normal distribution of mean ``input`` and variance ``var``."""
    check_tensor("gaussian_nll_loss", input)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    if not isinstance(var, TensorBase):
        real = input._sig.kind in "fc"
        var = input.new_full(tuple(input.shape), float(var), dtype=None if real else get_default_dtype())
    var = _variance_for(input, var)
    if bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    var = at_least(var, eps)
    loss = 0.5 * (F.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)


def _variance_for(input: Any, var: Any) -> Any:  # noqa: A002
    have, want = tuple(var.shape), tuple(input.shape)
    if have == want or (len(have) == len(want) and have[:-1] == want[:-1] and have[-1] == 1):
        return var
    if have == want[:-1]:
        return F.unsqueeze(var, -1)
    if all(n in (1, m) for n, m in zip(have, want, strict=False)) and len(have) == len(want):
        return var
    raise ValueError(f"var is of incorrect size: {have} beside an input of {want}")


# Losses that torch also has outside of `nn.functional`, where the reduction is a number (default 0: none).

_REDUCTIONS = ("none", "mean", "sum")


def _numbered(name: str, parameters: str) -> None:
    """Publish ``torch.<name>``; ``parameters`` in torch's order, ``reduction`` among them."""
    loss = NAMESPACES[NN][name]
    names = parameters.split()

    def call(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        reduction = given.pop("reduction", 0)
        return loss(**given, reduction=reduction if isinstance(reduction, str) else _REDUCTIONS[reduction])

    call.__name__ = call.__qualname__ = name
    call.__doc__ = loss.__doc__
    public(name, method=False)(call)


_numbered("binary_cross_entropy_with_logits", "input target weight pos_weight reduction")
_numbered("cosine_embedding_loss", "input1 input2 target margin reduction")
_numbered("ctc_loss", "log_probs targets input_lengths target_lengths blank reduction zero_infinity")
_numbered("hinge_embedding_loss", "input target margin reduction")
_numbered("kl_div", "input target reduction log_target")
_numbered("margin_ranking_loss", "input1 input2 target margin reduction")
_numbered("poisson_nll_loss", "input target log_input full eps reduction")
_numbered("triplet_margin_loss", "anchor positive negative margin p eps swap reduction")
