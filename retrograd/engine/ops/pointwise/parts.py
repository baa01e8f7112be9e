"""Parts of complex numbers and of floats; fake quantization."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.dtypes import numpy_dtype_of
from ...core.registry import F
from ...table.rows import elementwise, linear
from .arithmetic import conj

# Complex numbers and their parts: angle, conjugate, real and imaginary part.


def _angle(self: Any) -> Any:
    """The argument of a complex number; 0 or pi for a real one."""
    return np.angle(self) if self.dtype.kind == "c" else np.where(
        np.isnan(self), self, np.where(self < 0, self.dtype.type(math.pi), self.dtype.type(0))
    )  # fmt: skip


def is_complex(value: Any) -> bool:
    """Whether an array or a tensor holds complex numbers."""
    return numpy_dtype_of(value).kind == "c"


def _angle_grad(g: Any, self: Any) -> Any:
    if not is_complex(self):
        return F.zeros_like(self)
    size = F.real(self * F.conj(self))
    turned = g * F._complex(-F.imag(self), F.real(self)) / F._where(size == 0, F.ones_like(size), size)
    return F._where(self == 0, F.zeros_like(turned), turned)


def _angle_jvp(primal: Any, tangents: Any, results: Any) -> Any:
    self, tangent = primal[0], tangents[0]
    if not is_complex(self):
        return F.zeros_like(tangent)
    size = F.real(self * F.conj(self))
    return F.imag(F.conj(self) * tangent) / F._where(size == 0, F.ones_like(size), size)


elementwise("angle", _angle, promote="float", self=_angle_grad, jvp=_angle_jvp)
linear("_conj_physical", np.conjugate, node="ConjPhysicalBackward0", in_place_node="ConjPhysicalBackward1",
       self=lambda g: F.conj(g))  # fmt: skip


def _view_as_real(self: Any) -> Any:
    """A complex tensor as a real one with a last dimension of 2 (a view)."""
    if self.dtype.kind != "c":
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return self[..., None].view(f"f{self.dtype.itemsize // 2}")


def _view_as_complex(self: Any) -> Any:
    """A real tensor with a last dimension of 2 as complex numbers (a view)."""
    if self.dtype.kind != "f" or self.itemsize < 4:  # (NumPy has no complex numbers of halves)
        raise RuntimeError("view_as_complex is only supported for half, float and double tensors")
    if self.ndim == 0 or self.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if self.size and self.strides[-1] != self.itemsize:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(n > 1 and step % (2 * self.itemsize) for n, step in zip(self.shape[:-1], self.strides[:-1], strict=True)):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return self.view(f"c{self.dtype.itemsize * 2}")[..., 0]


linear(
    "view_as_real", _view_as_real, view=True, public=False, toggles=None, self=lambda g: F.view_as_complex(F._dense(g))
)
linear("view_as_complex", _view_as_complex, view=True, public=False, toggles=None, self=lambda g: F.view_as_real(g))
linear("_dense", lambda self: np.array(self, order="C"), node="CloneBackward0", self=lambda g: g)


def _complex(real: Any, imag: Any) -> Any:
    """Complex numbers from real and imaginary parts."""
    if real.dtype != imag.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {real.dtype} but got scalar type {imag.dtype} for second argument"
        )
    out = np.empty(np.broadcast_shapes(real.shape, imag.shape), np.result_type(real.dtype, np.complex64))
    out.real, out.imag = real, imag
    return out


def _polar(abs: Any, angle: Any) -> Any:  # noqa: A002
    """Complex numbers from absolute values and angles."""
    return _complex(np.asarray(abs * np.cos(angle)), np.asarray(abs * np.sin(angle)))


linear(
    "_complex", _complex, node="ComplexBackward0", tensors="real imag",
    real=lambda g, real: F.real(g), imag=lambda g, imag: F.imag(g), jvp=lambda primal, tangents, results: F._complex(
        tangents.get(0, F.zeros_like(primal[0])), tangents.get(1, F.zeros_like(primal[1]))), layout="operands",
)  # fmt: skip


def _polar_jvp(primal: Any, tangents: Any, results: Any) -> Any:
    size, angle = primal
    along = F._polar(F.ones_like(size), angle)
    parts = []
    if 0 in tangents:
        parts.append(along * tangents[0])
    if 1 in tangents:
        parts.append(1j * results[0] * tangents[1])
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


elementwise(
    "_polar", _polar, node="PolarBackward0", tensors="abs angle", promote="",
    abs=lambda g, result: F.real(F.conj(g) * F.sgn(result)),
    angle=lambda g, result: F.real(F.conj(g) * (1j * result)),
    jvp=_polar_jvp, kinds="w",
)  # fmt: skip


# Signs and exponents of floating-point numbers, and their neighbours.

LOG2 = math.log(2)


def _copysign(self: Any, other: Any) -> Any:
    """``|self|`` with the sign of ``other``."""
    return np.copysign(self, other)


def _copysign_grad(g: Any, self: Any, result: Any) -> Any:
    return g * F._kept(result / self, self == 0, False)


elementwise("_copysign_tensor", _copysign, node="CopysignBackward0", promote="float", self=_copysign_grad,
            other=lambda g: F.zeros_like(g))  # fmt: skip
elementwise("_copysign_number", _copysign, node="CopysignBackward1", tensors="self other", promote="float",
            self=_copysign_grad)  # fmt: skip


def _ldexp(self: Any, other: Any) -> Any:
    """``self * 2 ** other``."""
    return self * np.exp2(other.astype(np.result_type(self, np.float16)))


elementwise(
    "ldexp", _ldexp, tensors="self other", promote="float", inplace=True, numbers=False,
    self=lambda g, other: g * conj(F.exp2(other)), other=lambda g, result: g * conj(result) * LOG2,
)  # fmt: skip


def _frexp(self: Any) -> Any:
    mantissa, exponent = np.frexp(self)
    return mantissa, exponent.astype(np.int32)


elementwise(
    "_frexp", _frexp, node="FrexpBackward0", results="mantissa exponent", nondiff=(1,), promote="",
    self=lambda g, exponent: g[0] / F.exp2(exponent),
    jvp=lambda primal, tangents, results: (tangents[0] / F.exp2(results[1]), None),
)  # fmt: skip
elementwise(
    "nextafter",
    np.nextafter,
    self=lambda g, self, other: F._kept(g, self == other, False),
    other=lambda g: F.zeros_like(g),
    inplace=True,
    numbers=False,
    kinds="f",
    as_given=True,
)


# Fake quantization: rounds values to scaled integers; gradients pass where nothing was clamped.


def _steps(self: Any, scale: Any, zero_point: Any) -> Any:
    """How many steps of ``scale`` each value is away from what ``zero_point`` stands for; the scale is a float32."""
    return zero_point + np.rint(self * (np.float32(1) / np.asarray(scale, np.float32)))


def _fake_quantized(self: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Any:
    """The values that whole steps stand for, of as many steps as fit between the limits, and where they did fit.

    NaN counts as the lower limit.
    """
    steps = _steps(self, scale, zero_point)
    fitting = np.fmin(np.fmax(steps, quant_min), quant_max)
    factor = np.asarray(scale, np.float32)
    wide = self.dtype if factor.ndim else np.float32  # PyTorch's kernel for one scale multiplies in single precision
    values = ((fitting - zero_point).astype(wide) * factor).astype(self.dtype)
    return values, (steps >= quant_min) & (steps <= quant_max)


def _passed(g: Any, mask: Any) -> Any:
    return g * mask


for _how in ("PerTensorAffineCachemask", "PerTensorAffineCachemaskTensorQparams", "PerChannelAffineCachemask"):
    elementwise(
        f"_FakeQuantize{_how}", _fake_quantized, node=f"FakeQuantize{_how}Backward0", tensors="self", public=False,
        aux=("mask",), self=_passed, kinds="f",
    )  # fmt: skip
