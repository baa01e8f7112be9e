"""Products of elements, along a dimension or of all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...table.registry import F
from ...table.rows import function
from ...tensors.absent import AbsentMemory
from ...tensors.dtypes import numpy_dtype_of, to_numpy_dtype
from ..pointwise.arithmetic import conj, raw
from ..pointwise.complex_parts import is_complex
from .reduce import axes_of, unsqueezed


def all_nonzero(x: Any) -> bool:
    """Whether a tensor or array surely has no zero; of one without data nobody can know."""
    return getattr(x, "_array", x).__class__ is not AbsentMemory and bool(raw(x).all())


def accumulation_dtype(self: Any, dtype: Any) -> Any:
    """The dtype that sums and products are computed in: ``int64`` for integers, unless another one is asked for."""
    if dtype is not None:
        return to_numpy_dtype(dtype)
    return np.dtype(np.int64) if self.dtype.kind in "biu" else self.dtype


def _prod(self: Any, dtype: Any = None) -> Any:
    return np.multiply.reduce(self, axis=None, dtype=accumulation_dtype(self, dtype))


def _prod_dim(self: Any, dim: int, keepdim: bool = False, dtype: Any = None) -> Any:
    axes = axes_of(dim, self.ndim)
    multiply: Any = np.multiply
    return multiply.reduce(self, axis=axes, dtype=accumulation_dtype(self, dtype), keepdims=keepdim)


def product_of_others(self: Any, dim: int) -> Any:
    """For each element along ``dim`` the product of all others; right for zeros, too."""
    n = self.shape[dim]
    one = F.ones_like(F._slice(self, dim, 0, min(n, 1)))
    before = F.cat([one, F.cumprod(F._slice(self, dim, 0, n - 1), dim)], dim)
    after = F.cat([one, F.cumprod(F.flip(F._slice(self, dim, 1, n), (dim,)), dim)], dim)
    return before * F.flip(after, (dim,))


def _factors(self: Any, result: Any) -> Any:
    """What was multiplied: of complex elements only the real parts, and in the dtype asked for."""
    self = self.real if is_complex(self) and not is_complex(result) else self
    have = numpy_dtype_of(result)
    return self if have.kind != "f" or numpy_dtype_of(self) == have else F._to_copy(self, have)


def _prod_back(g: Any, self: Any, result: Any) -> Any:
    self, shape = _factors(self, result), tuple(self.shape)
    if not shape:
        return g
    if 0 in shape:
        return F.zeros_like(self)
    if all_nonzero(self):
        return g * conj(result / self)
    if g.__class__ is np.ndarray and np.count_nonzero(self == 0) > 1:
        return np.zeros_like(self)  # also beside NaN and infinity; where a graph is created, PyTorch multiplies, too
    flat = F.reshape(self, (math.prod(shape),))
    return F.reshape(g * conj(product_of_others(flat, 0)), shape)


def _prod_dim_back(g: Any, self: Any, result: Any, dim: int, keepdim: bool) -> Any:
    self, shape = _factors(self, result), tuple(self.shape)
    if not shape:
        return g
    axis = axes_of(dim, len(shape))[0]
    g, result = (unsqueezed(v, shape, axis, keepdim) for v in (g, result))
    if 0 in shape:
        return F.zeros_like(self)
    if all_nonzero(self):
        return g * conj(result / self)
    return g * conj(product_of_others(self, axis))


function("_prod", _prod, node="ProdBackward0", self=_prod_back)
function("_prod_dim", _prod_dim, node="ProdBackward1", self=_prod_dim_back, layout="rows")
