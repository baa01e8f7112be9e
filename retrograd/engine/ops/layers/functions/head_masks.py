"""Attention masks of positions and of padding, checked and combined."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....table.registry import F
from ....tensors.base import wrap
from ....tensors.dtypes import from_numpy_dtype
from ....warning import warn


def check_dimensions(query: Any, key: Any, value: Any, padding: Any, mask: Any, heads: int) -> None:
    """``AssertionError`` unless all operands are of a batch, or none is."""
    if query.ndim not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D query tensor"
        )
    n = query.ndim
    start = f"For {'batched' if n == 3 else 'unbatched'} ({n}-D) `query`, expected"
    if key.ndim != n or value.ndim != n:
        raise AssertionError(
            f"{start} `key` and `value` to be {n}-D but found {key.ndim}-D and {value.ndim}-D tensors respectively"
        )
    if padding is not None and padding.ndim != n - 1:
        raise AssertionError(
            f"{start} `key_padding_mask` to be `None` or {n - 1}-D but found {padding.ndim}-D tensor instead"
        )
    if mask is not None and mask.ndim not in (2, 3):
        raise AssertionError(f"{start} `attn_mask` to be `None`, 2-D or 3-D but found {mask.ndim}-D tensor instead")
    if mask is not None and n == 2 and mask.ndim == 3:
        expected = (heads, query.shape[0], key.shape[0])
        if mask.shape != expected:
            raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {mask.shape}")


def canonical_masks(
    mask: Any, padding: Any, dtype: Any, names: tuple[str, str] = ("attn_mask", "key_padding_mask")
) -> Any:
    """Both masks as numbers that are added to scores; a warning where only one was of booleans."""
    for given, name in ((padding, names[1]), (mask, names[0])):
        if given is not None and given._sig.kind not in "bf":
            raise AssertionError(f"only bool and floating types of {name} are supported")
    if mask is not None and padding is not None and mask.dtype != padding.dtype:
        warn(f"Support for mismatched {names[1]} and {names[0]} is deprecated. Use same type for both instead.")
    return _inverted(mask, dtype), _inverted(padding, dtype)


def check_sizes(mask: Any, padding: Any, queries: int, keys: int, sizes: tuple[int, int]) -> None:
    """``RuntimeError`` or ``AssertionError`` for masks of other sizes than the scores of ``(batch, heads)``."""
    batch, heads = sizes
    if mask is not None:
        expected = (queries, keys) if mask.ndim == 2 else (batch * heads, queries, keys)
        if mask.shape != expected:
            raise RuntimeError(f"The shape of the {mask.ndim}D attn_mask is {mask.shape}, but should be {expected}.")
    for dim, size in enumerate((batch, keys)) if padding is not None else ():
        if padding.shape[dim] != size:
            raise AssertionError(f"Expected key_padded_mask.shape[{dim}] to be {size}, but got {padding.shape[dim]}")


def head_mask(mask: Any, padding: Any, keys: int, sizes: tuple[int, int]) -> Any:
    """Masks of positions and of padding as one that is added to the scores of all heads."""
    batch, count = sizes
    mask, padding = (None if m is None else _widened(m, keys) for m in (mask, padding))
    if mask is not None and mask.ndim == 2:
        mask = F.unsqueeze(mask, 0)
    if padding is None:
        return mask
    spread = padding.reshape(batch, 1, 1, keys).expand(batch, count, 1, keys).reshape(batch * count, 1, keys)
    return spread if mask is None else mask + spread


def _inverted(mask: Any, dtype: Any) -> Any:
    """In this function True means "do not look"."""
    if mask is None or mask._sig.kind != "b":
        return mask
    if mask.is_meta:
        return mask.to(from_numpy_dtype(dtype))
    return wrap(np.where(mask._array, dtype.type(-np.inf), dtype.type(0)))


def _widened(mask: Any, keys: int) -> Any:
    """Keys that were added behind are not masked."""
    missing = keys - mask.shape[-1]
    return F.constant_pad_nd(mask, (0, missing), 0) if missing else mask
