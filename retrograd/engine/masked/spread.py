"""Variance and standard deviation of the elements that a mask selects."""

from __future__ import annotations

from typing import Any

from ..methods import FUNCTIONS
from .filling import has_fractions
from .reductions import counted, sum  # noqa: A004

Number = int | float


def var(
    input: Any, dim: Any = None, unbiased: bool | None = None, *, correction: Number | None = None,  # noqa: A002
    keepdim: bool | None = False, dtype: Any = None, mask: Any = None,
) -> Any:  # fmt: skip
    """The variance with ``n - correction`` (1 by default) for divisor; NaN where everything is masked out."""
    divisor_less = _correction(unbiased, correction)
    dtype, floating = _dtypes(input, dtype)
    mean = sum(input, dim, keepdim=True, dtype=dtype, mask=mask) / counted(input, dim, True, mask)
    away = input - mean
    total = sum(away * away.conj(), dim, keepdim=keepdim, dtype=floating, mask=mask)
    count = counted(input, dim, True, mask)
    count = count if keepdim else count.reshape(total.shape)
    if divisor_less:
        count = FUNCTIONS["clamp"](count.to(dtype=floating.to_real()) - divisor_less, min=0)
    return (total / count).to(dtype=dtype)


def std(
    input: Any, dim: Any = None, unbiased: bool | None = None, *, correction: Number | None = None,  # noqa: A002
    keepdim: bool | None = False, dtype: Any = None, mask: Any = None,
) -> Any:  # fmt: skip
    """The square root of the variance."""
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()


def _correction(unbiased: bool | None, correction: Number | None) -> float:
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is not None:
        return float(correction)
    return 1.0 if unbiased is None or unbiased else 0.0


def _dtypes(input: Any, dtype: Any) -> tuple[Any, Any]:  # noqa: A002
    """The dtype of the result, and the floating one in which it is computed."""
    single = FUNCTIONS["ones"](()).dtype
    if dtype is None:
        dtype = input.dtype if has_fractions(input.dtype) else single
    return dtype, dtype if has_fractions(dtype) else single
