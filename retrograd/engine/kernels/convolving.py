"""Convolution of arrays and its two transposes, as products of matrices with windows, a block of images at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .sliding import Sizes, add_columns, inner, window_span
from .window_blocks import Window, images_of_block, window_blocks

How = tuple[Sizes, Sizes, Sizes, int]
"""``(stride, padding, dilation, groups)``."""
_MOST_WIDER = 4
"""How many times more channels a gradient may have than its input for its windows to be looked at."""


def convolve(x: Any, weight: Any, count: Sizes, how: How) -> Any:
    """The first ``count`` windows of ``x (N, C, *spatial)`` times ``weight (O, C / groups, *kernel)``."""
    stride, padding, dilation, groups = how
    window = Window(weight.shape[2:], stride, dilation, padding, padding)
    wide_x, wide_weight = _wide(x, weight)
    return _correlate(wide_x, wide_weight, window, count, groups).astype(x.dtype, copy=False)


def convolve_input(grad: Any, weight: Any, spatial: Sizes, how: How) -> Any:
    """The transpose of ``convolve`` with respect to its input of ``spatial`` size: a transposed convolution."""
    stride, padding, dilation, groups = how
    kernel, count = weight.shape[2:], grad.shape[2:]
    wide_grad, wide_weight = _wide(grad, weight)
    before = tuple(s - 1 - p for s, p in zip(window_span(kernel, dilation), padding, strict=True))
    after = tuple(n - c + p for n, c, p in zip(spatial, count, padding, strict=True))
    single = set(stride) == {1} and min(*before, *after) >= 0
    if single and weight.shape[0] <= _MOST_WIDER * groups * weight.shape[1]:
        window = Window(kernel, stride, dilation, before, after)
        out = _correlate(wide_grad, _turned(wide_weight, groups), window, spatial, groups)
    else:
        out = _scatter(wide_grad, wide_weight, spatial, how)
    return out.astype(grad.dtype, copy=False)


def convolve_weight(grad: Any, x: Any, kernel: Sizes, how: How) -> Any:
    """The transpose of ``convolve`` with respect to its weight."""
    stride, padding, dilation, groups = how
    wide_grad, wide_x = _wide(grad, x)
    n, outs, *count = grad.shape
    per_group, entries = outs // groups, x.shape[1] // groups * math.prod(kernel)
    rows = wide_grad.reshape(n, groups, per_group, math.prod(count))
    wide = entries > per_group  # the larger matrix comes first: BLAS takes up to twice as long the other way
    total: Any = np.zeros((groups, entries, per_group) if wide else (groups, per_group, entries), wide_x.dtype)
    window = Window(kernel, stride, dilation, padding, padding)
    for images, places, block in window_blocks(wide_x, window, tuple(count), outs, images_inside=True):
        into = rows[images, :, :, places].transpose(1, 2, 0, 3)
        many = into.shape[2] * into.shape[3]
        a, b = into.reshape(groups, per_group, many), block.reshape(groups, entries, many)
        total += np.matmul(b, a.swapaxes(1, 2)) if wide else np.matmul(a, b.swapaxes(1, 2))
    total = np.ascontiguousarray(total.swapaxes(1, 2)) if wide else total
    return total.reshape(outs, x.shape[1] // groups, *kernel).astype(x.dtype, copy=False)


def _wide(*arrays: Any) -> list[Any]:
    """Half precision is computed in single, which BLAS has."""
    return [a.astype(np.float32) if a.dtype == np.float16 else a for a in arrays]


def _correlate(x: Any, weight: Any, window: Window, count: Sizes, groups: int) -> Any:
    """The products of each window with the weight."""
    n, outs = x.shape[0], weight.shape[0]
    entries = math.prod(weight.shape[1:])
    matrix = weight.reshape(groups, outs // groups, entries)
    if math.prod(window.kernel) == 1 and x.shape[2:] == count and not any(window.before):
        return np.matmul(matrix, x.reshape(n, groups, entries, math.prod(count))).reshape(n, outs, *count)
    out = np.empty((n, groups, outs // groups, math.prod(count)), np.result_type(x, weight))
    for images, places, block in window_blocks(x, window, count, outs):
        into = out[images, :, :, places]
        np.matmul(matrix, block.reshape(len(block), groups, entries, into.shape[3]), out=into)
    return out.reshape(n, outs, *count)


def _turned(weight: Any, groups: int) -> Any:
    """The weight whose convolution is the transpose: inputs and outputs exchanged, positions in reverse order."""
    outs, ins, *kernel = weight.shape
    turned = weight.reshape(groups, outs // groups, ins, *kernel).swapaxes(1, 2)
    turned = np.flip(turned, tuple(range(3, turned.ndim)))
    return turned.reshape(groups * ins, outs // groups, *kernel)


def _scatter(grad: Any, weight: Any, spatial: Sizes, how: How) -> Any:
    """The transposed convolution by adding up what each window gives to its places."""
    stride, padding, dilation, groups = how
    n, outs, *count = grad.shape
    kernel, ins = weight.shape[2:], weight.shape[1] * groups
    matrix = weight.reshape(groups, outs // groups, math.prod(weight.shape[1:])).swapaxes(1, 2)
    rows = grad.reshape(n, groups, outs // groups, math.prod(count))
    whole = tuple(s + 2 * p for s, p in zip(spatial, padding, strict=True))
    out = np.empty((n, ins, *spatial), np.result_type(grad, weight))
    step = images_of_block(n, math.prod(count), (ins * math.prod(kernel) + outs) * math.prod(count) * out.itemsize)
    for first in range(0, n, step):
        part = rows[first : first + step]
        cols = matrix * part if outs == groups == ins > 1 else np.matmul(matrix, part)
        cols = cols.reshape(len(part), ins, math.prod(kernel), *count)
        out[first : first + step] = add_columns(cols, whole, kernel, stride, dilation)[inner(padding, spatial)]
    return out
