"""Fourier transforms: complex to complex, real to complex, complex to real.

``normalization`` counts as in torch: 0 leaves the sum as it is, 1 divides by the root of the number of points, 2 by the
number.  With it the three rows are each other's transposes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...aliasing.memory_formats import copied_with, dense_strides
from ...aliasing.strided import element_strides
from ...core.registry import F
from ...table.rows import linear

Dims = tuple[int, ...]
_FORWARD: tuple[Any, ...] = ("backward", "ortho", "forward")
_INVERSE: tuple[Any, ...] = ("forward", "ortho", "backward")
"""NumPy's names, which depend on the direction, for the three normalisations."""


def _laid_out(out: Any, strides: Dims, dim: Dims) -> Any:
    """A transform in the order that PyTorch leaves it in: the dimensions ``dim`` fastest, others as the input's lie."""
    rest = sorted((d for d in range(out.ndim) if d not in dim), key=lambda d: -strides[d])
    wanted = dense_strides(out.shape, [*rest, *dim][::-1])
    return out if wanted == element_strides(out) or not out.size else copied_with(wanted, out)


def _by_stride(strides: Dims, dim: Dims) -> Dims:
    """The dimensions to transform, widest stride first."""
    return tuple(sorted(dim, key=lambda d: -strides[d]))


def _c2c(self: Any, dim: Dims, normalization: int, forward: bool) -> Any:
    if not dim:
        return self.copy()
    if forward:
        out = np.fft.fftn(self, axes=dim, norm=_FORWARD[normalization])
    else:
        out = np.fft.ifftn(self, axes=dim, norm=_INVERSE[normalization])
    strides = element_strides(self)
    return _laid_out(out.astype(self.dtype, copy=False), strides, _by_stride(strides, dim))


def _complex_of(dtype: Any) -> Any:
    return np.dtype(np.complex64) if dtype.itemsize < 8 else np.dtype(np.complex128)


def _r2c(self: Any, dim: Dims, normalization: int, onesided: bool) -> Any:
    transform = np.fft.rfftn if onesided else np.fft.fftn
    out = transform(self, axes=dim, norm=_FORWARD[normalization]).astype(_complex_of(self.dtype), copy=False)
    strides = element_strides(self)
    return _laid_out(out, strides, (*_by_stride(strides, dim[:-1]), dim[-1]))


def _c2r(self: Any, dim: Dims, normalization: int, last_dim_size: int) -> Any:
    """The inverse transform of half a spectrum."""
    real = np.dtype(np.float32) if self.dtype == np.complex64 else np.dtype(np.float64)
    if len(dim) > 1:
        self = _c2c(self, dim[:-1], normalization, False)
    out = np.fft.irfft(self, last_dim_size, axis=dim[-1], norm=_INVERSE[normalization])
    return _laid_out(out.astype(real, copy=False), element_strides(self), dim[-1:])


def _grow(g: Any, axis: int, size: int) -> Any:
    """Zeros behind one dimension up to a size."""
    axis %= g.ndim
    missing = size - g.shape[axis]
    return F.constant_pad_nd(g, (0, 0) * (g.ndim - 1 - axis) + (0, missing), 0) if missing else g


def _r2c_back(g: Any, self: Any, dim: Dims, normalization: int, onesided: bool) -> Any:
    if onesided:
        g = _grow(g, dim[-1], self.shape[dim[-1]])
    return F.real(F._fft_c2c(g, dim, normalization, False))


def _c2r_back(g: Any, dim: Dims, normalization: int) -> Any:
    """What half a spectrum leaves out counts twice."""
    half = F._fft_r2c(g, dim, normalization, True)
    return F._fft_double(half, dim[-1], g.shape[dim[-1]] - half.shape[dim[-1]])


def _double(self: Any, axis: int, count: int) -> Any:
    """``count`` elements after the first one doubled."""
    out = self.copy()
    middle: list[Any] = [slice(None)] * self.ndim
    middle[axis] = slice(1, 1 + count)
    out[tuple(middle)] *= 2
    return out


linear(
    "_fft_c2c", _c2c, reorders=True, node="FftC2CBackward0", as_given=True,
    self=lambda g, dim, normalization, forward: F._fft_c2c(g, dim, normalization, not forward),
)  # fmt: skip
linear("_fft_r2c", _r2c, reorders=True, node="FftR2CBackward0", as_given=True, self=_r2c_back)
linear("_fft_c2r", _c2r, node="FftC2RBackward0", as_given=True, self=_c2r_back)
linear(
    "_fft_double",
    _double,
    node="MulBackward0",
    as_given=True,
    self=lambda g, axis, count: F._fft_double(g, axis, count),
)
