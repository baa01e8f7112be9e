"""Scaled dot-product attention, attention with several heads, and their masks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....aliasing.views import requires_grad
from ....calls.refusals import refuse
from ....core.argument_checks import checked_number
from ....core.base import wrap
from ....core.dtypes import from_numpy_dtype, scalar_name
from ....core.narrow import kind_of
from ....core.registry import F
from ....forward_mode.forward_ad import carries_tangent
from ....rules.by_number import times
from ....table.public import NN, check_tensor, public
from ....warning import warn
from .dropout import dropout
from .embedding import linear

# Attention masks of positions and of padding, checked and combined.


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


# Scaled dot-product attention and attention with several heads.


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


# Attention with several heads, composed as in PyTorch.


def _parted(projected: Any, count: int, width: int) -> Any:
    """What one product gave for several projections, each with memory of its own."""
    apart = F.transpose(F.unsqueeze(projected.unflatten(-1, (count, width)), 0), 0, -2)
    apart = F._squeeze_dim(apart, -2).contiguous()
    return [F.select(apart, 0, i) for i in range(count)]


def _separately(query: Any, key: Any, value: Any, weights: Any, bias: Any) -> Any:
    """Query, key and value through a weight each, and the thirds of one bias."""
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return [linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]


def _packed(query: Any, key: Any, value: Any, weight: Any, bias: Any) -> Any:
    """Query, key and value through the thirds of one weight; in one product where they are one tensor."""
    width = query.shape[-1]
    if key is not value:
        return _separately(query, key, value, weight.chunk(3), bias)
    if query is key:
        return _parted(linear(query, weight, bias), 3, width)
    sizes = [width, 2 * width]
    for_query, for_both = weight.split(sizes)
    bias_of_query, bias_of_both = (None, None) if bias is None else bias.split(sizes)
    own = linear(query, for_query, bias_of_query)
    return [own, *_parted(linear(key, for_both, bias_of_both), 2, width)]


def _check_sizes(query: Any, key: Any, value: Any, expected: int, heads: int, separate: bool) -> None:
    """``AssertionError`` for operands that do not fit together."""
    width = query.shape[2]
    if width != expected:
        raise AssertionError(f"was expecting embedding dimension of {expected}, but got {width}")
    if width % heads:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {heads}")
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    if not separate and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")


@public("multi_head_attention_forward", namespace=NN)
def multi_head_attention_forward(
    query: Any, key: Any, value: Any, embed_dim_to_check: int, num_heads: int, in_proj_weight: Any, in_proj_bias: Any,
    bias_k: Any, bias_v: Any, add_zero_attn: bool, dropout_p: float, out_proj_weight: Any, out_proj_bias: Any,
    training: bool = True, key_padding_mask: Any = None, need_weights: bool = True, attn_mask: Any = None,
    use_separate_proj_weight: bool = False, q_proj_weight: Any = None, k_proj_weight: Any = None,
    v_proj_weight: Any = None, static_k: Any = None, static_v: Any = None, average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Any:  # fmt: skip
    """Attention with several heads; ``(L, N, E)`` or ``(L, E)``; returns the result and the weights."""
    check_dimensions(query, key, value, key_padding_mask, attn_mask, num_heads)
    single = query.ndim == 2
    if single:
        query, key, value = (F.unsqueeze(x, 1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else F.unsqueeze(key_padding_mask, 0)
    attn_mask, key_padding_mask = canonical_masks(attn_mask, key_padding_mask, query._sig.numpy)
    refuse(is_causal and attn_mask is None, _CAUSAL_WITHOUT_MASK)
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None  # the kernel masks by itself
    is_causal = is_causal and key_padding_mask is None
    length, batch, width = query.shape
    _check_sizes(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        projected = _separately(query, key, value, weights, in_proj_bias)
    else:
        projected = _packed(query, key, value, in_proj_weight, in_proj_bias)
    check_sizes(attn_mask, key_padding_mask, length, key.shape[0], (batch, num_heads))
    if bias_k is not None:
        projected = _with_row(projected, (bias_k, bias_v), batch)
    heads = _by_head(projected, (static_k, static_v), batch * num_heads, width // num_heads)
    if add_zero_attn:
        heads = _with_zeros(heads)
    mask = head_mask(attn_mask, key_padding_mask, heads[1].shape[1], (batch, num_heads))
    drop = dropout_p if training else 0.0
    if need_weights:
        out, attention = _weighted(heads, mask, (batch, num_heads), drop)
    else:
        out, attention = _attended(heads, mask, (batch, num_heads), drop, is_causal), None
    out = _put_out(out, out_proj_weight, out_proj_bias, (length, batch))
    if attention is not None:
        attention = _shown_weights(attention, (batch, num_heads), average_attn_weights)
    if not single:
        return out, attention
    return F._squeeze_dim(out, 1), None if attention is None else F._squeeze_dim(attention, 0)


_CAUSAL_WITHOUT_MASK = (
    "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
    "`generate_square_subsequent_mask` to create this mask."
)


def _put_out(values: Any, weight: Any, bias: Any, sizes: tuple[int, int]) -> Any:
    """What the heads saw, ``(length * batch, width)``, through the last projection: ``(length, batch, width)``."""
    out = linear(values, weight, bias)
    return F._view(out, (*sizes, out.shape[1]))


def _by_head(projected: list[Any], static: tuple[Any, Any], rows: int, width: int) -> list[Any]:
    """Query, key and value as ``(rows, length, width)``, with a row for each head of each entry of the batch."""
    given = [None, *[None if x is None else _static(x, rows, width) for x in static]]
    return [
        F.transpose(F._view(own, (own.shape[0], rows, width)), 0, 1) if fixed is None else fixed
        for own, fixed in zip(projected, given, strict=True)
    ]


def _with_row(projected: list[Any], added: tuple[Any, Any], batch: int) -> list[Any]:
    """Keys and values with a learned row behind."""
    query, *others = projected
    return [query, *[F.cat([x, row.repeat(1, batch, 1)], 0) for x, row in zip(others, added, strict=True)]]


def _with_zeros(heads: list[Any]) -> list[Any]:
    """Keys and values with a row of zeros behind."""
    query, *others = heads
    rows, _, width = query.shape
    zeros = wrap(np.zeros((rows, 1, width), query._sig.numpy))
    return [query, *[F.cat([x, zeros], 1) for x in others]]


def _weighted(heads: list[Any], mask: Any, sizes: tuple[int, int], drop: float) -> tuple[Any, Any]:
    """The values that the heads look at, ``(length * batch, width)``, and with which weights each does."""
    query, key, value = heads
    attention = _attention_weights(query, key, mask)
    attention = dropout(attention, drop, True) if drop else attention
    batch, count = sizes
    _, length, width = query.shape
    return F.transpose(F.bmm(attention, value), 0, 1).reshape(length * batch, count * width), attention


def _shown_weights(attention: Any, sizes: tuple[int, int], averaged: bool) -> Any:
    """Weights by entry of the batch, those of its heads one by one or their mean."""
    apart = F._view(attention, (*sizes, *attention.shape[1:]))
    return apart.mean(1) if averaged else apart


def _attention_weights(query: Any, key: Any, mask: Any) -> Any:
    """``softmax(query @ key.T / sqrt(width) + mask)``."""
    scaled, turned = query * math.sqrt(1.0 / query.shape[-1]), F.transpose(key, -2, -1)
    return F._softmax(F.bmm(scaled, turned) if mask is None else F.baddbmm(mask, scaled, turned, 1, 1), -1)


def _attended(heads: list[Any], mask: Any, sizes: tuple[int, int], drop: float, causal: bool) -> Any:
    """The values that the heads look at, ``(length * batch, width)``, without the weights."""
    batch, count = sizes
    length, width = heads[0].shape[1:]
    if mask is not None:
        alone = mask.shape[0] == 1 and mask.ndim == 3
        mask = F.unsqueeze(mask, 0) if alone else F._view(mask, (batch, count, -1, heads[1].shape[1]))
    split = [F._view(x, (batch, count, x.shape[1], width)) for x in heads]
    out = scaled_dot_product_attention(*split, mask, drop, causal)
    return out.permute(2, 0, 1, 3).reshape(batch * length, count * width)


def _static(given: Any, rows: int, width: int) -> Any:
    """Keys or values that came with the call, already split by head."""
    for dim, size in ((0, rows), (2, width)):
        if given.shape[dim] != size:
            raise AssertionError(f"expecting static_k.size({dim}) of {size}, but got {given.shape[dim]}")
    return given
