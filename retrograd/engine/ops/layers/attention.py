"""Scaled dot-product attention in one row, and the softmax that gives 0 where everything is masked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.base import TensorBase, wrap
from ...core.registry import F
from ...kernels.sums import sums_along, sums_of_products
from ...table.rows import function


def _safe_softmax(self: Any, dim: int) -> Any:
    """Softmax along ``dim``; a row of -inf gives zeros."""
    top = np.maximum.reduce(self, axis=dim, keepdims=True, initial=-np.inf)
    top = np.where(np.isneginf(top), self.dtype.type(0), top)
    e = np.exp(self - top)
    total = sums_along(e, dim)
    return (e / np.where(total == 0, 1, total)).astype(self.dtype, copy=False)


function(
    "_safe_softmax", _safe_softmax, node="SafeSoftmaxBackward0",
    self=lambda g, result, dim: F._softmax_back(g, result, dim),
)  # fmt: skip


def _attention_weights(query: Any, key: Any, mask: Any, scale: float) -> Any:
    """How much each query looks at each key; ``mask`` is added and may be ``None``."""
    scores = np.matmul(query * query.dtype.type(scale), key.swapaxes(-1, -2))
    if mask is not None:
        np.add(scores, mask, out=scores)
    top = np.maximum.reduce(scores, axis=-1, keepdims=True, initial=-np.inf)
    if mask is not None:
        top[np.isneginf(top)] = 0
    np.exp(np.subtract(scores, top, out=scores), out=scores)
    total = sums_along(scores, -1)
    if mask is not None:
        total[total == 0] = 1
    return np.divide(scores, total, out=scores)


def _product(left: Any, right: Any) -> Any:
    """A product in memory in which all heads of a place lie side by side."""
    batch, heads, length, _ = left.shape
    out = np.empty((batch, length, heads, right.shape[-1]), left.dtype).transpose(0, 2, 1, 3)
    return np.matmul(left, right, out=out)


def _attention(query: Any, key: Any, value: Any, attn_mask: Any, scale: float) -> Any:
    key, value = _for_each_head(query, key), _for_each_head(query, value)
    weights = _attention_weights(query, key, getattr(attn_mask, "_array", attn_mask), scale)
    return np.matmul(weights, value, out=np.empty_like(query)), weights


def _attention_grads(
    g: Any, needs: Any, query: Any, key: Any, value: Any, attn_mask: Any, scale: float, attention: Any
) -> Any:  # fmt: skip
    """Gradients of query, key and value; ``attention`` is the softmax of forward, or what hooks saw of it."""
    mask = getattr(attn_mask, "_array", attn_mask)
    operands = query, _for_each_head(query, key), _for_each_head(query, value)
    grads = _attention_formula if isinstance(g, TensorBase) else _attention_slopes
    found = grads(g, needs, operands, mask, scale, attention)
    if operands[1] is key:
        return found
    return [found[0], *[None if into is None else _of_groups(into, tuple(key.shape)) for into in found[1:]]]


def _for_each_head(query: Any, shared: Any) -> Any:
    """Keys or values of which each serves a group of heads, once for each head."""
    heads = query.shape[1]
    if shared.shape[1] == heads:
        return shared
    batch, groups, length, width = shared.shape
    spread = F.expand(F.unsqueeze(shared, 2), (batch, groups, heads // groups, length, width))
    return F.reshape(spread, (batch, heads, length, width))


def _of_groups(grad: Any, sizes: Any) -> Any:
    """The gradients of a group's heads, added."""
    batch, groups, length, width = sizes
    return F._sum_dim(F.reshape(grad, (batch, groups, grad.shape[1] // groups, length, width)), (2,), False)


def _attention_slopes(g: Any, needs: Any, operands: Any, mask: Any, scale: float, weights: Any) -> Any:
    query, key, value = operands
    weights = weights if weights.ndim == query.ndim else _attention_weights(query, key, mask, scale)
    into_query = into_key = into_value = None
    if needs[2]:
        into_value = _product(weights.swapaxes(-1, -2), g)
    if needs[0] or needs[1]:
        slope = np.matmul(g, value.swapaxes(-1, -2))
        slope -= sums_of_products(slope, weights)[..., None]
        slope *= weights
        slope *= slope.dtype.type(scale)
        into_query = _product(slope, key) if needs[0] else None
        into_key = _product(slope.swapaxes(-1, -2), query) if needs[1] else None
    return into_query, into_key, into_value


def _attention_formula(g: Any, needs: Any, operands: Any, mask: Any, scale: float, _: Any) -> Any:
    """The same in differentiable operators, from the operands on; everything as batches of matrices."""

    def batch(x: Any) -> Any:
        return F.reshape(x, (math.prod(x.shape[:-2]), *x.shape[-2:]))

    query, key, value, grad = (batch(x) for x in (*operands, g))
    scores = F.bmm(query, F.transpose(key, 1, 2)) * scale
    if mask is not None:
        whole = (*operands[0].shape[:-1], key.shape[1])
        scores = scores + batch(wrap(np.broadcast_to(mask, whole).astype(scores._sig.numpy)))
    weights = F._safe_softmax(scores, 2)
    into_value = F.bmm(F.transpose(weights, 1, 2), grad)
    slope = F.bmm(grad, F.transpose(value, 1, 2))
    slope = weights * (slope - F._sum_dim(slope * weights, (2,), True)) * scale
    into = F.bmm(slope, key), F.bmm(F.transpose(slope, 1, 2), query), into_value
    return [
        F.reshape(made, tuple(x.shape)) if need else None for made, x, need in zip(into, operands, needs, strict=True)
    ]


def _log_of_sums(query: Any, key: Any, attn_mask: Any, scale: float) -> Any:
    """What PyTorch keeps in place of how much each query looks at each key."""
    scores = np.matmul(query * query.dtype.type(scale), _for_each_head(query, key).swapaxes(-1, -2))
    scores = scores if attn_mask is None else scores + attn_mask
    return np.logaddexp.reduce(scores, axis=-1)


function(
    "_attention", _attention, node="ScaledDotProductFlashAttentionForCpuBackward0", tensors="query key value",
    joint=_attention_grads, layout="copy", aux=("attention",), arrays="attn_mask", keeps="result",
    for_hooks={"attention": _log_of_sums}, shown={"logsumexp": "attention"},
)  # fmt: skip
