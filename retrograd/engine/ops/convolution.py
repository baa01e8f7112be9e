"""Convolutions in any number of dimensions, plain and transposed, and the windows of ``unfold`` and ``fold``.

Three products make up everything: the convolution of an input with a weight, and its two transposes.  Each is linear
in both of its arguments, and the rules of each are the other two, so gradients of any order stay among them.
``how`` is ``(stride, padding, dilation, groups)``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..op import multilinear
from ..registry import F
from ..sliding import Sizes, add_columns, columns, inner, padded, taps, window_count
from .elementwise import conj

How = tuple[Sizes, Sizes, Sizes, int]


def _wide(*arrays: Any) -> list[Any]:
    """Half precision is computed in single, which BLAS has."""
    return [a.astype(np.float32) if a.dtype == np.float16 else a for a in arrays]


def _is_depthwise(weight: Any, groups: int) -> bool:
    return bool(weight.shape[1] == 1 and weight.shape[0] == groups > 1)


def _grouped_columns(x: Any, kernel: Sizes, count: Sizes, how: How) -> Any:
    """Windows as ``(N, groups, channels of a group * kernel, windows)``."""
    stride, padding, dilation, groups = how
    windows = math.prod(count)
    if math.prod(kernel) == 1 and x.shape[2:] == count:
        return x.reshape(x.shape[0], groups, x.shape[1] // groups, windows)
    cols = columns(padded(x, padding, padding), kernel, stride, dilation, count)
    return cols.reshape(x.shape[0], groups, x.shape[1] // groups * math.prod(kernel), windows)


def convolve(x: Any, weight: Any, how: How) -> Any:
    """The convolution of ``x (N, C, *spatial)`` with ``weight (O, C / groups, *kernel)``."""
    dtype = x.dtype
    x, weight = _wide(x, weight)
    stride, padding, dilation, groups = how
    kernel = weight.shape[2:]
    count = window_count(x.shape[2:], kernel, stride, padding, dilation)
    if _is_depthwise(weight, groups):
        return _depthwise(padded(x, padding, padding), weight, how, count).astype(dtype, copy=False)
    matrix = weight.reshape(groups, weight.shape[0] // groups, math.prod(weight.shape[1:]))
    out = np.matmul(matrix, _grouped_columns(x, kernel, count, how))
    return out.reshape(x.shape[0], weight.shape[0], *count).astype(dtype, copy=False)


def _depthwise(xp: Any, weight: Any, how: How, count: Sizes) -> Any:
    """One filter per channel: a sum of shifted products (a matrix product per channel would be all overhead)."""
    stride, _, dilation, _ = how
    lines = weight.reshape(weight.shape[0], -1)
    ones = (1,) * len(count)
    out = np.zeros((xp.shape[0], weight.shape[0], *count), xp.dtype)
    for k, tap in enumerate(taps(weight.shape[2:], stride, dilation, count)):
        out += xp[tap] * lines[:, k].reshape(-1, *ones)
    return out


def convolve_input(g: Any, weight: Any, spatial: Sizes, how: How) -> Any:
    """The transpose of ``convolve`` with respect to its input of ``spatial`` size: a transposed convolution."""
    dtype = g.dtype
    g, weight = _wide(g, weight)
    stride, padding, dilation, groups = how
    kernel, count = weight.shape[2:], g.shape[2:]
    n, per_group = g.shape[0], weight.shape[0] // groups
    matrix = weight.reshape(groups, per_group, math.prod(weight.shape[1:]))
    rows = g.reshape(n, groups, per_group, math.prod(count))
    if _is_depthwise(weight, groups):
        cols = matrix.transpose(0, 2, 1) * rows
    else:
        cols = np.matmul(matrix.transpose(0, 2, 1), rows)
    whole = tuple(s + 2 * p for s, p in zip(spatial, padding, strict=True))
    cols = cols.reshape(n, groups * weight.shape[1], math.prod(kernel), *count)
    if math.prod(kernel) == 1 and whole == count:
        return cols.reshape(n, -1, *spatial).astype(dtype, copy=False)
    out = add_columns(cols, whole, kernel, stride, dilation)
    return out[inner(padding, spatial)].astype(dtype, copy=False)


def convolve_weight(g: Any, x: Any, kernel: Sizes, how: How) -> Any:
    """The transpose of ``convolve`` with respect to its weight."""
    dtype = x.dtype
    g, x = _wide(g, x)
    groups, count, n = how[3], g.shape[2:], g.shape[0]
    rows = g.reshape(n, groups, g.shape[1] // groups, math.prod(count))
    cols = _grouped_columns(x, kernel, count, how)
    if g.shape[1] == x.shape[1] == groups:
        product = np.einsum("ngot,ngct->goc", rows, cols)
    else:
        product = np.add.reduce(np.matmul(rows, cols.swapaxes(2, 3)), axis=0)
    return product.reshape(g.shape[1], x.shape[1] // groups, *kernel).astype(dtype, copy=False)


multilinear(
    "_conv", convolve, node="ConvolutionBackward0", promote="",
    x=lambda g, x_sizes, weight, how: F._conv_input(g, conj(weight), tuple(x_sizes[2:]), how),
    weight=lambda g, x, weight_sizes, how: F._conv_weight(g, conj(x), tuple(weight_sizes[2:]), how),
)  # fmt: skip
multilinear(
    "_conv_input", convolve_input, node="ConvolutionBackwardBackward0", promote="",
    g=lambda g, weight, how: F._conv(g, conj(weight), how),
    weight=lambda g, g_sizes, weight_sizes, how, g_: None,
) if False else None  # fmt: skip
