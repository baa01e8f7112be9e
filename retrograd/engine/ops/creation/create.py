"""Copies, casts, fills and layout-preserving creation."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...aliasing.memory_formats import copied, copied_with, strides_like
from ...aliasing.strided import Geometry, zeros_like_layout
from ...core.argument_checks import checked_number
from ...core.dtypes import numpy_dtype_of
from ...core.narrow import cast, is_narrow, kind_of
from ...core.registry import F
from ...deprecations import discourage
from ...table.rows import function, linear, nondifferentiable

linear("clone", lambda self, memory_format=None: copied(self, memory_format), self=lambda g: g,
       as_given=True, reorders=True)  # fmt: skip


def _to_copy(self: Any, numpy: Any, memory_format: Any = None) -> Any:
    if self.dtype.kind == "c" and kind_of(numpy) not in "cb":
        discourage("complex to real")
        self = copied_with(strides_like(self), self.real)  # it lies as the complex numbers do
    if is_narrow(numpy) or is_narrow(self.dtype):
        made = cast(self, numpy)
        return copied(made, memory_format) if made is self or memory_format is not None else made
    return copied(self, memory_format, numpy)


def _cast_back(g: Any, self_options: Any) -> Any:
    numpy = self_options.numpy
    have = g.dtype if isinstance(g, (np.ndarray, np.generic)) else g._sig.numpy
    if have.kind == "c" and numpy.kind != "c":
        g = F.real(g)
    return F._to_copy(g, numpy)


linear("_to_copy", _to_copy, node="ToCopyBackward0", self=_cast_back, as_given=True, reorders=True)


def _copy(self: Any, src: Any, non_blocking: bool = False) -> Any:
    src = np.asarray(src)
    if src.dtype.kind == "c" and kind_of(self.dtype) not in "cb":
        discourage("complex to real")
        src = src.real
    return cast(src, self.dtype)


def _copied_back(g: Any, src_options: Any) -> Any:
    have = numpy_dtype_of(g)
    return F.real(g) if have.kind == "c" and src_options.numpy.kind != "c" else g


linear(
    "_copy", _copy, node="CopyBackwards", tensors="self src",
    self=lambda g: F.zeros_like(g), src=_copied_back, as_given=True,
)  # fmt: skip


def _fill(self: Any, value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        value = checked_number(value, self.dtype)
    return np.broadcast_to(cast(np.asarray(value), self.dtype), self.shape)


linear("_fill_number", _fill, node="FillBackward0", in_place_node="FillBackward2", tensors="self", as_given=True,
       self=lambda g: F.zeros_like(g), jvp=lambda primal, tangents, results: tangents[0] * 0)  # fmt: skip
linear("_fill_tensor", _fill, node="FillBackward1", in_place_node="FillBackward3", tensors="self value", as_given=True,
       self=lambda g: F.zeros_like(g), value=lambda g: F.sum(g))  # fmt: skip
linear("_zero", lambda self: np.zeros_like(self), node="ZeroBackward0", self=lambda g: F.zeros_like(g), as_given=True)


nondifferentiable(
    "zeros_like", lambda self: np.zeros(self.shape, self.dtype), public=False, layout="copy", as_given=True
)
nondifferentiable("ones_like", lambda self: np.ones(self.shape, self.dtype), public=False, layout="copy", as_given=True)
nondifferentiable(
    "empty_like_layout", lambda self: zeros_like_layout(Geometry.of(self, 0), self.dtype), public=False, as_given=True
)

# -- complex parts


def _real_to_complex(g: Any, self_options: Any) -> Any:
    return F._to_copy(g, self_options.numpy)


def _imag_to_complex(g: Any, self_options: Any) -> Any:
    return F._to_copy(g, self_options.numpy) * 1j


function("real", lambda self: self.real, node="RealBackward0", self=_real_to_complex, view=True, public=False,
         toggles=None, jvp=lambda primal, tangents, results: F.real(tangents[0]))  # fmt: skip
function("imag", lambda self: self.imag, node="ImagBackward0", self=_imag_to_complex, view=True, public=False,
         toggles=None, jvp=lambda primal, tangents, results: F.imag(tangents[0]))  # fmt: skip
