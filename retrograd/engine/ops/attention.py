"""Scaled dot-product attention in one row, and the softmax that gives 0 where everything is masked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..table.registry import F
from ..table.rows import function
from ..tensors.base import TensorBase, wrap


def _safe_softmax(self: Any, dim: int) -> Any:
    """Softmax along ``dim``; a row of -inf gives zeros."""
    top = np.maximum.reduce(self, axis=dim, keepdims=True, initial=-np.inf)
    top = np.where(np.isneginf(top), self.dtype.type(0), top)
    e = np.exp(self - top)
    total = np.add.reduce(e, axis=dim, keepdims=True)
    return (e / np.where(total == 0, 1, total)).astype(self.dtype, copy=False)


function(
    "_safe_softmax", _safe_softmax, node="SafeSoftmaxBackward0",
    self=lambda g, result, dim: result * (g - F._sum_dim(g * result, (dim,), True)),
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
    total = np.add.reduce(scores, axis=-1, keepdims=True)
    if mask is not None:
        total[total == 0] = 1
    return np.divide(scores, total, out=scores)


def _product(left: Any, right: Any) -> Any:
    """A product in memory in which all heads of a place lie side by side."""
    batch, heads, length, _ = left.shape
    out = np.empty((batch, length, heads, right.shape[-1]), left.dtype).transpose(0, 2, 1, 3)
    return np.matmul(left, right, out=out)


def _attention(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    weights = _attention_weights(query, key, mask, scale)
    return np.matmul(weights, value, out=np.empty_like(query)), weights


def _attention_grads(
    g: Any, needs: Any, query: Any, key: Any, value: Any, mask: Any, scale: float, weights: Any
) -> Any:  # fmt: skip
    """Gradients of query, key and value; ``weights`` is the softmax that forward computed."""
    if isinstance(g, TensorBase):
        return _attention_formula(g, needs, (query, key, value), mask, scale)
    into_query = into_key = into_value = None
    if needs[2]:
        into_value = _product(weights.swapaxes(-1, -2), g)
    if needs[0] or needs[1]:
        slope = np.matmul(g, value.swapaxes(-1, -2))
        slope -= np.einsum("...ij,...ij->...i", slope, weights)[..., None]
        slope *= weights
        slope *= slope.dtype.type(scale)
        into_query = _product(slope, key) if needs[0] else None
        into_key = _product(slope.swapaxes(-1, -2), query) if needs[1] else None
    return into_query, into_key, into_value


def _attention_formula(g: Any, needs: Any, operands: Any, mask: Any, scale: float) -> Any:
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


function(
    "_attention", _attention, node="ScaledDotProductFlashAttentionForCpuBackward0", tensors="query key value",
    joint=_attention_grads, aux=("weights",), arrays="mask", keeps="result",
)  # fmt: skip
