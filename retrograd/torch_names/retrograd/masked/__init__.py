"""``torch.masked``: functions that look at a part of the elements only."""

import sys

from ..engine.masked.reductions import (  # noqa: A004
    amax,
    amin,
    argmax,
    argmin,
    cumprod,
    cumsum,
    log_softmax,
    logaddexp,
    logsumexp,
    mean,
    median,
    norm,
    normalize,
    prod,
    softmax,
    softmin,
    std,
    sum,
    var,
)

# PyTorch has them in a file of this name.
_ops = sys.modules[f"{__name__}._ops"] = sys.modules[__name__]

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
    "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip
