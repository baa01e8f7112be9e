"""Scaled dot-product attention and attention with several heads."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....aliasing.views import requires_grad
from ....calls.refusals import refuse
from ....forward_mode.forward_ad import carries_tangent
from ....rules.by_number import times
from ....table.public import NN, check_tensor, public
from ....table.registry import F
from ....tensors.base import wrap
from ....tensors.dtype_names import scalar_name
from ....tensors.narrow import kind_of
from ....tensors.numbers_ import checked_number
from .dropout import dropout


def _added_mask(mask: Any, like: Any) -> Any:
    """A mask to be added to the scores: a boolean one as 0 and -inf."""
    if mask is None or mask._sig.kind != "b":
        return mask
    dtype = like._sig.numpy
    checked_number(-math.inf, dtype)
    if mask.is_meta:
        return mask.to(like.dtype)
    return wrap(np.where(mask._array, dtype.type(0), dtype.type(-np.inf)))


def _causal(query: Any, key: Any, mask: Any) -> Any:
    """A mask to be added that lets no query see later keys, nor those that ``mask`` hides, if there is one."""
    numpy = query._sig.numpy
    if kind_of(numpy) != "f":
        raise RuntimeError(f"expected scalar type Float but found {scalar_name(numpy)}")
    allowed = np.tril(np.ones((query.shape[-2], key.shape[-2]), bool))
    seen = numpy.type(0) if mask is None or mask.is_meta else mask._array
    return wrap(np.where(allowed, seen, numpy.type(-np.inf))).to(query.device)


def _fitting_mask(mask: Any, query: Any) -> Any:
    """A mask to be added to the scores; ``RuntimeError`` for a numeric mask of another dtype."""
    refuse(
        mask is not None and mask._sig.kind not in "bf" and mask.dtype != query.dtype,
        "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
        f"{getattr(mask, 'dtype', None)} and query.dtype: {query.dtype} instead.",
    )
    return _added_mask(mask, query)


def _fits_one_row(query: Any, key: Any, value: Any, mask: Any, dropout_p: float, shares: bool) -> bool:
    """Whether torch, too, computes all of it in one kernel; ``shares``: heads may share keys and values."""
    return bool(
        query.ndim == key.ndim == value.ndim == 4
        and all(x._array.strides[-1] == x._array.itemsize or x._array.shape[-1] == 1 for x in (query, key, value))
        and dropout_p == 0
        and query.shape[0] == key.shape[0] == value.shape[0]
        and key.shape[1] == value.shape[1]
        and (query.shape[1] % key.shape[1] == 0 if shares else query.shape[1] == key.shape[1])
        and query.shape[-1] == key.shape[-1] == value.shape[-1]
        and query.numel()
        and key.numel()
        and query._sig.numpy in (np.float32, np.float64)
        and (mask is None or (mask.ndim in (2, 4) and not requires_grad(mask) and not carries_tangent([mask])))
    )


@public("scaled_dot_product_attention", namespace=NN)
def scaled_dot_product_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """``softmax(query @ key.T * scale + mask) @ value`` over the last two dimensions."""
    check_tensor("scaled_dot_product_attention", query)
    for name, x in (("Query", query), ("key", key), ("value", value)):
        refuse(
            x.ndim < 2, f"Expected query, key, and value to all be at least 2 dimensional, but got {name}.dim: {x.ndim}"
        )
    refuse(
        not query.dtype == key.dtype == value.dtype,
        f"Expected query, key, and value to have the same dtype, but got query.dtype: {query.dtype} key.dtype: "
        f"{key.dtype} and value.dtype: {value.dtype} instead.",
    )
    shares = enable_gqa and query.shape[-3] != key.shape[-3]
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    mask = _fitting_mask(attn_mask, query)
    in_one_row = _fits_one_row(query, key, value, mask, dropout_p, shares)
    if shares and not in_one_row:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    refuse(
        is_causal and mask is not None and not in_one_row,
        "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True",
    )
    if in_one_row:
        hidden = _causal(query, key, mask) if is_causal else mask
        return F._attention(query, key, value, hidden._array if is_causal and not query.is_meta else hidden, factor)
    mask = _causal(query, key, mask) if is_causal else mask
    return _composed(query, key, value, mask, (dropout_p, factor))


def _composed(query: Any, key: Any, value: Any, mask: Any, how: tuple[float, float]) -> Any:
    """Step by step, as torch does where its kernel does not fit."""
    dropout_p, factor = how
    root = math.sqrt(abs(factor))
    scores = times(query, math.copysign(root, factor)).matmul(times(key.transpose(-2, -1), root))
    scores = scores if mask is None else scores + mask
    weights = F._safe_softmax(scores, scores.ndim - 1)
    if dropout_p:
        weights = dropout(weights, dropout_p, True)
    return weights.matmul(value)
