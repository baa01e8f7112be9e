"""The windows of a batch of images, a block at a time, so that a block's windows are still in the processor's cache
when a product reads them: a fifth less time than all windows at once, and memory for a block in place of the batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .sliding import Sizes, inner, windows

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
