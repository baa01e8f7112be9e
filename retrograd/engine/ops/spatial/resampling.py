"""Interpolation, adaptive averages and pixel shuffles: linear maps along one dimension at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.registry import F
from ...kernels.byte_pictures import blend_bytes, nearest_bytes
from ...kernels.halves import rounded_once
from ...kernels.separable import NO_ELEMENT, blend, blend_back
from ...table.rows import function, linear
from ..pointwise.arithmetic import zero_gradient

Sizes = tuple[int, ...]


def _scale(n: int, m: int, align: bool, given: Any) -> float:
    """How many source elements one step of the result makes."""
    if align:
        return (n - 1) / (m - 1) if m > 1 else 0.0
    return 1.0 / given if given else n / m


def _nearest(n: int, m: int, align: bool, given: Any, real: Any) -> Any:
    scale = np.float32(1.0 / given if given else n / m)
    return np.minimum(np.floor(np.arange(m, dtype=np.float32) * scale).astype(np.int64), n - 1)[None], None


def _nearest_exact(n: int, m: int, align: bool, given: Any, real: Any) -> Any:
    scale = np.float32(1.0 / given if given else n / m)
    at = np.floor((np.arange(m, dtype=np.float32) + np.float32(0.5)) * scale)
    return np.minimum(at.astype(np.int64), n - 1)[None], None


def _places(n: int, m: int, align: bool, given: Any, real: Any) -> Any:
    """Where each element of the result lies in the source; in the precision torch uses for the dtype."""
    scale = real(_scale(n, m, align, given))
    steps = np.arange(m, dtype=real)
    return steps * scale if align else (steps + real(0.5)) * scale - real(0.5)


def _linear(n: int, m: int, align: bool, given: Any, real: Any) -> Any:
    keeps = n == m  # such a dimension mixes no neighbours, whatever scale was given for it
    at = np.arange(m, dtype=real) if keeps else np.maximum(_places(n, m, align, given, real), 0)
    low = np.minimum(np.floor(at).astype(np.int64), n - 1)
    part = np.clip(at - low, 0, 1)
    high = low if keeps else np.minimum(low + 1, n - 1)
    return np.stack((low, high)), np.stack((1 - part, part))


def _cubic(n: int, m: int, align: bool, given: Any, real: Any) -> Any:
    at = _places(n, m, align, given, real)
    low = np.floor(at)
    part = at - low
    taps = low.astype(np.int64) + np.arange(-1, 3)[:, None]
    distance = np.stack((1 + part, part, 1 - part, 2 - part))
    return np.clip(taps, 0, n - 1), _cubic_weight(distance, -0.75)


def _cubic_weight(x: Any, a: float) -> Any:
    """Keys' cubic convolution kernel at distance ``x``."""
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


def _triangle_weight(x: Any) -> Any:
    return np.maximum(1 - np.abs(x), 0)


def _lanczos_weight(x: Any) -> Any:
    """Lanczos' kernel with three lobes at distance ``x``."""
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


def _antialiased(filter_width: int, weight: Any) -> Any:
    """Weights of a filter that widens with the reduction, normalised to sum 1."""

    def taps(n: int, m: int, align: bool, given: Any, real: Any) -> Any:
        if n == m:
            return np.arange(m)[None], None
        scale = _scale(n, m, align, given)
        widen = max(scale, 1.0)
        support = filter_width / 2 * widen
        centre = scale * (np.arange(m) + 0.5)
        first = np.maximum((centre - support + 0.5).astype(np.int64), 0)
        last = np.minimum((centre + support + 0.5).astype(np.int64), n)
        at = first + np.arange(int(np.max(last - first)))[:, None]
        w = np.where(at < last, weight((at - centre + 0.5) / widen), 0.0)
        return np.where(at < last, at, NO_ELEMENT), w / np.sum(w, axis=0)

    return taps


def _area(n: int, m: int, align: bool, given: Any, real: Any) -> Any:
    """Cells of adaptive pooling: from ``floor(i n / m)`` to ``ceil((i + 1) n / m)``."""
    i = np.arange(m)
    first, last = i * n // m, -(-(i + 1) * n // m)
    at = first + np.arange(int(np.max(last - first, initial=1)))[:, None]  # one tap where there are no cells
    return np.where(at < last, at, NO_ELEMENT), np.where(at < last, 1.0, 0.0) / (last - first)


_TAPS = {
    "nearest": _nearest, "nearest_exact": _nearest_exact, "linear": _linear, "cubic": _cubic, "area": _area,
    "linear_aa": _antialiased(2, _triangle_weight),
    "cubic_aa": _antialiased(4, lambda x: _cubic_weight(x, -0.5)),
    "lanczos_aa": _antialiased(6, _lanczos_weight),
}  # fmt: skip
"""For each mode: source elements and weights of each element of a result, for one dimension."""


def _maps(kind: str, source: Sizes, ndim: int, target: Sizes, align: bool, scales: Any, dtype: Any) -> list[Any]:
    real = np.float64 if dtype == np.float64 else np.float32
    found = []
    for i, (n, m) in enumerate(zip(source, target, strict=True)):
        given = scales[i] if scales is not None else None
        if kind == "nearest" and n == m and len(target) == 2:  # pictures alone stay as they are, whatever was given
            given = None
        found.append((ndim - len(target) + i, *_TAPS[kind](n, m, align, given, real)))
    return found


def _resample(kind: str) -> Any:
    def forward(self: Any, output_size: Sizes, align_corners: bool = False, scales: Any = None) -> Any:
        source = self.shape[self.ndim - len(output_size) :]
        pictures = self.dtype.kind == "u" and len(output_size) == 2
        dtype = np.float64 if pictures else self.dtype
        maps = _maps(kind, source, self.ndim, output_size, align_corners, scales, dtype)
        if self.dtype.kind != "u" or all(weights is None for *_, weights in maps):
            return blend(self, maps)
        return blend_bytes(self, maps) if pictures else nearest_bytes(blend(self.astype(np.float32), maps))

    return forward


def _resample_back(kind: str) -> Any:
    def forward(grad: Any, sizes: Sizes, output_size: Sizes, align_corners: bool = False, scales: Any = None) -> Any:
        source = sizes[len(sizes) - len(output_size) :]
        return blend_back(grad, _maps(kind, source, len(sizes), output_size, align_corners, scales, grad.dtype), sizes)

    return forward


def _rows(name: str, kind: str, node: str, kinds: str = "fu") -> None:
    back = f"{name}_backward"
    linear(
        name, _resample(kind), node=f"{node}Backward0", public=False, kinds=kinds, layout="format",
        self=lambda g, self_sizes, output_size, align_corners, scales: getattr(F, back)(
            g, tuple(self_sizes), output_size, align_corners, scales),
    )  # fmt: skip
    linear(
        back, _resample_back(kind), node=f"{node}BackwardBackward0", tensors="grad", public=False,
        grad=lambda g, output_size, align_corners, scales: getattr(F, name)(g, output_size, align_corners, scales),
    )  # fmt: skip


def _pool_rows(name: str, node: str) -> None:
    """A pool keeps its input, as torch's do: a write to it before backward is an error, its second gradient zeros."""
    back, cells, cells_back = f"{name}_backward", rounded_once()(_resample("area")), _resample_back("area")
    linear(
        name, lambda self, output_size: cells(self, output_size), node=f"{node}Backward0", public=False, kinds="f",
        layout="rows" if name.endswith("3d") else "format",
        self=lambda g, self, output_size: getattr(F, back)(g, self, output_size),
    )  # fmt: skip
    function(
        back, lambda grad, self, output_size: cells_back(grad, self.shape, output_size),
        node=f"{node}BackwardBackward0", tensors="grad self", public=False,
        grad=lambda g, output_size: getattr(F, name)(g, output_size), self=zero_gradient,
    )  # fmt: skip


for _dims in (1, 2, 3):
    _rows(f"upsample_nearest{_dims}d", "nearest", f"UpsampleNearest{_dims}D")
    _rows(f"_upsample_nearest_exact{_dims}d", "nearest_exact", f"UpsampleNearestExact{_dims}D")
_rows("upsample_linear1d", "linear", "UpsampleLinear1D", "f")
_rows("upsample_bilinear2d", "linear", "UpsampleBilinear2D")
_rows("upsample_trilinear3d", "linear", "UpsampleTrilinear3D", "f")
_rows("upsample_bicubic2d", "cubic", "UpsampleBicubic2D")
_rows("_upsample_bilinear2d_aa", "linear_aa", "UpsampleBilinear2DAa")
_rows("_upsample_bicubic2d_aa", "cubic_aa", "UpsampleBicubic2DAa")
_rows("_upsample_lanczos2d_aa", "lanczos_aa", "UpsampleLanczos2DAa")
_pool_rows("_adaptive_avg_pool2d", "AdaptiveAvgPool2D")
_pool_rows("_adaptive_avg_pool3d", "AdaptiveAvgPool3D")


# -- channels into pixels and back


def _pixel_shuffle(self: Any, upscale_factor: int) -> Any:
    """``(..., C r², H, W)`` as ``(..., C, H r, W r)``."""
    r = upscale_factor
    *lead, c, h, w = self.shape
    x = self.reshape(*lead, c // r**2, r, r, h, w)
    n = len(lead)
    return x.transpose(*range(n), n, n + 3, n + 1, n + 4, n + 2).reshape(*lead, c // r**2, h * r, w * r)


def _pixel_unshuffle(self: Any, downscale_factor: int) -> Any:
    """``(..., C, H r, W r)`` as ``(..., C r², H, W)``."""
    r = downscale_factor
    *lead, c, h, w = self.shape
    x = self.reshape(*lead, c, h // r, r, w // r, r)
    n = len(lead)
    return x.transpose(*range(n), n, n + 2, n + 4, n + 1, n + 3).reshape(*lead, c * r**2, h // r, w // r)


def _channel_shuffle(self: Any, groups: int) -> Any:
    """Channels of several groups dealt out in turn."""
    n, c = self.shape[:2]
    return np.ascontiguousarray(self.reshape(n, groups, c // groups, *self.shape[2:]).swapaxes(1, 2)).reshape(
        self.shape
    )


linear("_pixel_shuffle", _pixel_shuffle, node="PixelShuffleBackward0",
       self=lambda g, upscale_factor: F._pixel_unshuffle(g, upscale_factor), layout="format")  # fmt: skip
linear("_pixel_unshuffle", _pixel_unshuffle, node="PixelUnshuffleBackward0",
       self=lambda g, downscale_factor: F._pixel_shuffle(g, downscale_factor), layout="format")  # fmt: skip
linear("_channel_shuffle", _channel_shuffle, node="ChannelShuffleBackward0",
       self=lambda g, self_sizes, groups: F._channel_shuffle(g, self_sizes[1] // groups), layout="format")  # fmt: skip
