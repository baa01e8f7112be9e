"""Determinants and their logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....return_types import named
from ....table.public import public
from ....table.registry import F
from ....tensors.base import wrap


@public("det", namespace="linalg", out=True)
def det(A: Any) -> Any:  # noqa: N803
    """The determinant of matrices."""
    return F._det(A)


@public("slogdet", namespace="linalg", out=True)
def slogdet(A: Any) -> Any:  # noqa: N803
    """Sign and logarithm of the determinant's size."""
    return named("linalg_slogdet", *F._slogdet(A))


@public("slogdet", out=True)
def old_slogdet(input: Any) -> Any:  # noqa: A002
    """``linalg.slogdet`` under its old name."""
    return named("slogdet", *F._slogdet(input))


@public("logdet")
def logdet(input: Any) -> Any:  # noqa: A002
    """The logarithm of the determinant; NaN where it is negative."""
    sign, log = F._slogdet(input)
    if sign._sig.kind == "c":
        return F.log(sign) + log
    return F._where(F.eq(sign, -1.0), wrap(np.asarray(np.nan, log._sig.numpy)), log)
