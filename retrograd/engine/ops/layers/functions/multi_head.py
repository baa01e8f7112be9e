"""Attention with several heads, composed as in PyTorch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....calls.refusals import refuse
from ....table.public import NN, public
from ....table.registry import F
from ....tensors.base import wrap
from .attention import scaled_dot_product_attention
from .dropout import dropout
from .head_masks import canonical_masks, check_dimensions, check_sizes, head_mask
from .linear import linear


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
