"""``torch.masked``: functions that look at a part of the elements only."""

from ..engine.masked.along import cumprod, cumsum, log_softmax, logaddexp, normalize, softmax, softmin
from ..engine.masked.reductions import amax, amin, argmax, argmin, logsumexp, mean, median, norm, prod, sum  # noqa: A004
from ..engine.masked.spread import std, var
from . import _ops as _ops

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
    "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip
