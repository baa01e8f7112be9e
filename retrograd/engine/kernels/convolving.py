"""Convolution of arrays and its two transposes, as products of matrices with windows, a block of images at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .sliding import Sizes, add_columns, inner, window_span, windows

# The windows of a batch of images, a block at a time, so that a block's windows are still in the processor's cache
# when a product reads them: a fifth less time than all windows at once, and memory for a block in place of the batch.

BLOCK = 1 << 19
"""Bytes of a block with what is computed from it: half of a usual second-level cache."""
_FEWEST = 256
"""Windows of one image in a block, where it has as many: a product with fewer reads its weights too often."""


class Window(NamedTuple):
    """A window, and how it moves over images with zeros ``before`` and ``after`` them in each dimension."""

    kernel: Sizes
    stride: Sizes
    dilation: Sizes
    before: Sizes
    after: Sizes


def images_of_block(n: int, windows_per_image: int, bytes_per_image: int) -> int:
    """How many of ``n`` images a block takes, about as many in each block."""
    fewest = -(-_FEWEST // max(1, windows_per_image))
    most = max(fewest, BLOCK // max(1, bytes_per_image))
    return math.ceil(n / math.ceil(n / most)) if n else 1


def window_blocks(
    x: Any, window: Window, count: Sizes, outputs: int, images_inside: bool = False
) -> Iterator[tuple[slice, slice, Any]]:
    """For each block: which images and which of their windows (counted through) it holds, and those windows.

    ``x (N, C, *spatial)`` has ``count`` windows an image, of which ``outputs`` numbers each are computed.  The windows
    are ``(images, C, *kernel, lines, *rest)``, or ``(C, *kernel, images, lines, *rest)`` with ``images_inside``; they
    are overwritten by the next block.
    """
    n, line = x.shape[0], math.prod(count[1:])
    bytes_per_line = (x.shape[1] * math.prod(window.kernel) + outputs) * line * x.itemsize
    images = images_of_block(n, line * count[0], bytes_per_line * count[0])
    lines = count[0] if images > 1 else max(-(-_FEWEST // max(1, line)), BLOCK // max(1, bytes_per_line))
    surrounded, middle = _surroundings(x, images, window)
    seen = windows(surrounded, window.kernel, window.stride, window.dilation, count)
    order = list(range(seen.ndim))
    if images_inside:
        order.insert(1 + len(count), order.pop(0))
    store = np.empty(math.prod(seen.shape[1 : 2 + len(count)]) * images * min(lines, count[0]) * line, x.dtype)
    for first in range(0, n, images):
        chosen = slice(first, min(first + images, n))
        if middle is None:
            block = seen[chosen]
        else:
            middle[: chosen.stop - first] = x[chosen]
            block = seen[: chosen.stop - first]
        for top in range(0, count[0], lines):
            part = block[(..., slice(top, top + lines), *(slice(None),) * (len(count) - 1))].transpose(order)
            copied = store[: part.size].reshape(part.shape)
            np.copyto(copied, part)
            yield chosen, slice(top * line, (top + lines) * line), copied


def _surroundings(x: Any, images: int, window: Window) -> tuple[Any, Any]:
    """Zeros for the images of a block, and the part of them that an image fills; the images where they need none."""
    if not any(window.before) and not any(window.after):
        return x, None
    spatial = x.shape[2:]
    whole = [n + b + a for n, b, a in zip(spatial, window.before, window.after, strict=True)]
    zeros = np.zeros((images, x.shape[1], *whole), x.dtype)
    return zeros, zeros[inner(window.before, spatial)]


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
