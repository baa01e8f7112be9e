"""Scaled dot-product attention and attention with several heads."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...aliasing.views import requires_grad
from ...calls.refusals import refuse
from ...forward_mode.forward_ad import carries_tangent
from ...table.public import NAMESPACES, NN, check_tensor, public
from ...table.registry import F
from ...tensors.base import TensorBase, wrap
from .dropout import dropout


def _added_mask(mask: Any, dtype: Any) -> Any:
    """A mask to be added to the scores: a boolean one as 0 and -inf."""
    if mask is None or mask._sig.numpy.kind != "b":
        return mask
    return wrap(np.where(mask._array, dtype.type(0), dtype.type(-np.inf)))


def _causal(query: Any, key: Any) -> Any:
    allowed = np.tril(np.ones((query.shape[-2], key.shape[-2]), bool))
    return _added_mask(wrap(allowed), query._sig.numpy)


def _fitting_mask(mask: Any, query: Any) -> Any:
    """A mask to be added to the scores; ``RuntimeError`` for one of numbers of another kind than theirs."""
    refuse(
        mask is not None and mask._sig.numpy.kind not in "bf" and mask.dtype != query.dtype,
        "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
        f"{getattr(mask, 'dtype', None)} and query.dtype: {query.dtype} instead.",
    )
    return _added_mask(mask, query._sig.numpy)


def _fits_one_row(query: Any, key: Any, value: Any, mask: Any, dropout_p: float) -> bool:
    """Whether torch, too, computes all of it in one kernel."""
    return bool(
        query.ndim == key.ndim == value.ndim == 4
        and dropout_p == 0
        and query.shape[:2] == key.shape[:2] == value.shape[:2]
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
    refuse(attn_mask is not None and is_causal, "Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa and query.shape[-3] != key.shape[-3]:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    mask = _causal(query, key) if is_causal else _fitting_mask(attn_mask, query)
    if _fits_one_row(query, key, value, mask, dropout_p):
        return F._attention(query, key, value, None if mask is None else mask._array, factor)
    return _composed(query, key, value, mask, (dropout_p, factor))


def _composed(query: Any, key: Any, value: Any, mask: Any, how: tuple[float, float]) -> Any:
    """Step by step, as torch does where its kernel does not fit."""
    dropout_p, factor = how
    root = math.sqrt(factor) if factor >= 0 else factor
    scores = (query * root).matmul((key * (root if factor >= 0 else 1.0)).transpose(-2, -1))
    scores = scores if mask is None else scores + mask
    weights = F._safe_softmax(scores, scores.ndim - 1)
    if dropout_p:
        weights = dropout(weights, dropout_p, True)
    return weights.matmul(value)


def _projected(operands: Any, weights: Any, bias: Any, width: int) -> list[Any]:
    """Query, key and value through their projections."""
    linear = NAMESPACES[NN]["linear"]
    if isinstance(weights, TensorBase):
        rows: Any = weights
        weights = [rows[i * width : (i + 1) * width] for i in range(3)]
    biases = [None] * 3 if bias is None else [bias[i * width : (i + 1) * width] for i in range(3)]
    return [linear(x, w, b) for x, w, b in zip(operands, weights, biases, strict=True)]


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
    single = query.ndim == 2
    if single:
        query, key, value = (F.unsqueeze(x, 1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else F.unsqueeze(key_padding_mask, 0)
    length, batch, width = query.shape
    if width != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}")
    if width % num_heads:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight
    q, k, v = _projected((query, key, value), weights, in_proj_bias, width)
    if bias_k is not None:
        k = F.cat([k, bias_k.repeat(1, batch, 1)], 0)
        v = F.cat([v, bias_v.repeat(1, batch, 1)], 0)
    heads = _by_head(q, k, v, (static_k, static_v), batch * num_heads, width // num_heads)
    if add_zero_attn:
        zeros = wrap(np.zeros((batch * num_heads, 1, width // num_heads), q._sig.numpy))
        heads[1:] = [F.cat([x, zeros], 1) for x in heads[1:]]
    mask = _head_mask(attn_mask, key_padding_mask, heads, (batch, num_heads))
    attention = _attention_weights(heads[0], heads[1], mask)
    if training and dropout_p:
        attention = dropout(attention, dropout_p, True)
    out = attention.matmul(heads[2]).transpose(0, 1).reshape(length * batch, width)
    out = NAMESPACES[NN]["linear"](out, out_proj_weight, out_proj_bias).reshape(length, batch, width)
    out = F._squeeze_dim(out, 1) if single else out
    if not need_weights:
        return out, None
    attention = attention.reshape(batch, num_heads, length, -1)
    attention = attention.mean(1) if average_attn_weights else attention
    return out, F._squeeze_dim(attention, 0) if single else attention


def _by_head(q: Any, k: Any, v: Any, static: tuple[Any, Any], rows: int, width: int) -> list[Any]:
    """Query, key and value as ``(rows, length, width)``, with a row for each head of each entry of the batch."""
    split = [x.reshape(x.shape[0], rows, width).transpose(0, 1) for x in (q, k, v)]
    given = [None if x is None else _static(x, rows, width) for x in static]
    return [split[0], *[own if x is None else x for own, x in zip(split[1:], given, strict=True)]]


def _attention_weights(query: Any, key: Any, mask: Any) -> Any:
    """``softmax(query @ key.T / sqrt(width) + mask)``."""
    scores = (query * math.sqrt(1.0 / query.shape[-1])).matmul(key.transpose(-2, -1))
    return F._softmax(scores if mask is None else scores + mask, 2)


def _static(given: Any, rows: int, width: int) -> Any:
    """Keys or values that came with the call, already split by head."""
    for dim, size in ((0, rows), (2, width)):
        if given.shape[dim] != size:
            raise AssertionError(f"expecting static_k.size({dim}) of {size}, but got {given.shape[dim]}")
    return given


def _head_mask(mask: Any, padding: Any, heads: Any, sizes: tuple[int, int]) -> Any:
    """Attention and padding masks as one that is added to the scores of all heads."""
    batch, count = sizes
    dtype = heads[0]._sig.numpy
    keys = heads[1].shape[1]
    mask, padding = (_inverted(m, dtype) for m in (mask, padding))
    mask, padding = (None if m is None else _widened(m, keys) for m in (mask, padding))
    if mask is not None and mask.ndim == 2:
        mask = F.unsqueeze(mask, 0)
    if padding is None:
        return mask
    spread = padding.reshape(batch, 1, 1, keys).expand(batch, count, 1, keys).reshape(batch * count, 1, keys)
    return spread if mask is None else mask + spread


def _inverted(mask: Any, dtype: Any) -> Any:
    """In this function True means "do not look"."""
    if mask is None or mask._sig.numpy.kind != "b":
        return mask
    return wrap(np.where(mask._array, dtype.type(-np.inf), dtype.type(0)))


def _widened(mask: Any, keys: int) -> Any:
    """Keys that were added behind are not masked."""
    missing = keys - mask.shape[-1]
    return F.constant_pad_nd(mask, (0, missing), 0) if missing else mask
