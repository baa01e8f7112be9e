"""Parameters of distributions: numbers and tensors of one shape, probabilities from log odds and back."""

from __future__ import annotations

from functools import cached_property
from numbers import Number
from typing import Any

from ..engine.core.dtypes import finfo
from ..engine.methods import FUNCTIONS
from ..engine.switches.modes import enable_grad
from ..engine.tensors.tensor import Tensor


class lazy_property(cached_property[Any]):  # noqa: N801 - torch's name
    """A parameter that is worked out when it is first asked for, and recorded even where nothing else is."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """The value, or the property itself if the class is asked."""
        with enable_grad():
            return super().__get__(instance, owner)


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Tensors of one shape; numbers take the dtype of the first tensor, or else the default dtype."""
    if not all(isinstance(value, (Tensor, Number)) for value in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    tensors = [value for value in values if isinstance(value, Tensor)]
    dtype = tensors[0].dtype if tensors else None
    made = [v if isinstance(v, Tensor) else FUNCTIONS["tensor"](float(v), dtype=dtype) for v in values]
    return tuple(FUNCTIONS["broadcast_tensors"](*made))


def clamped(probs: Any) -> Any:
    """Probabilities away from 0 and 1 by the dtype's epsilon, so that logarithms are finite."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_of(probs: Any, binary: bool = False) -> Any:
    """Log odds of probabilities (``binary``), or logarithms of those of several categories."""
    kept = clamped(probs)
    return kept.log() - (-kept).log1p() if binary else kept.log()


def probs_of(logits: Any, binary: bool = False) -> Any:
    """Probabilities of log odds, or of unnormalised logarithms along the last dimension."""
    return logits.sigmoid() if binary else logits.softmax(-1)


def exactly_one(probs: Any, logits: Any) -> None:
    """``ValueError`` unless one of the two is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


def given_parameter(distribution: Any) -> Any:
    """``probs`` or ``logits``, whichever the distribution was made with; the other is worked out when asked for."""
    kept = distribution.__dict__
    return kept["probs"] if "probs" in kept else kept["logits"]


def sum_rightmost(value: Any, dims: int) -> Any:
    """Sum over the last ``dims`` dimensions."""
    return value.reshape((*value.shape[:-dims], -1)).sum(-1) if dims else value
