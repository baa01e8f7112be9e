"""``torch.masked._ops``: where PyTorch's documentation looks for the functions of ``torch.masked``."""

from ..engine.masked.along import cumprod, cumsum, log_softmax, logaddexp, normalize, softmax, softmin
from ..engine.masked.reductions import amax, amin, argmax, argmin, logsumexp, mean, median, norm, prod, sum  # noqa: A004
from ..engine.masked.spread import std, var

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
    "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip
