"""Element-wise operators of one tensor: inverse trigonometry, hyperbolics, rounding, angles, complex parts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..table.registry import F
from ..table.rows import elementwise, linear, nondifferentiable
from .elementwise import conj, zero_gradient

# -- trigonometry and hyperbolics

elementwise("asin", np.arcsin, promote="float", self=lambda g, self: g * conj(F.rsqrt(1 - self * self)), inplace=True)
elementwise("acos", np.arccos, promote="float", self=lambda g, self: g * -conj(F.rsqrt(1 - self * self)), inplace=True)
elementwise("atan", np.arctan, promote="float", self=lambda g, self: g / conj(1 + self * self), inplace=True)
elementwise("sinh", np.sinh, promote="float", self=lambda g, self: g * conj(F.cosh(self)), inplace=True)
elementwise("cosh", np.cosh, promote="float", self=lambda g, self: g * conj(F.sinh(self)), inplace=True)
elementwise(
    "asinh",
    np.arcsinh,
    promote="float",
    self=lambda g, self: g * conj(F.rsqrt(self * self + 1)),
    in_place_node="AsinhBackward1",
    inplace=True,
)
elementwise(
    "acosh", np.arccosh, promote="float", in_place_node="AcoshBackward1", inplace=True,
    self=lambda g, self: g * conj(F.rsqrt(self - 1) * F.rsqrt(self + 1)) if is_complex(self)
    else g * F.rsqrt(self * self - 1),
)  # fmt: skip
elementwise(
    "atanh",
    np.arctanh,
    promote="float",
    self=lambda g, self: g / conj(1 - self * self),
    in_place_node="AtanhBackward1",
    inplace=True,
)


def _sinc(self: Any) -> Any:
    """``sin(pi x) / (pi x)``, 1 at 0."""
    angle = self * self.dtype.type(math.pi)
    return np.where(self == 0, self.dtype.type(1), np.sin(angle) / np.where(self == 0, 1, angle)).astype(self.dtype)


def _sinc_grad(g: Any, self: Any) -> Any:
    angle = self * math.pi
    slope = (angle * F.cos(angle) - F.sin(angle)) / (angle * self)
    return F._where(self == 0, F.zeros_like(g), g * conj(slope))


elementwise("sinc", _sinc, promote="float", self=_sinc_grad, inplace=True)
elementwise(
    "deg2rad", lambda self: self * self.dtype.type(math.pi / 180), node="Deg2RadBackward0", promote="float",
    self=lambda g: F.deg2rad(g), inplace=True,
    kinds="fiub",
)  # fmt: skip
elementwise(
    "rad2deg", lambda self: self * self.dtype.type(180 / math.pi), node="Rad2DegBackward0", promote="float",
    self=lambda g: F.rad2deg(g), inplace=True,
    kinds="fiub",
)  # fmt: skip

# -- rounding

elementwise("frac", lambda self: self - np.trunc(self), self=lambda g: g, inplace=True, kinds="f")


def _round_decimals(self: Any, decimals: int) -> Any:
    if self.dtype.kind in "iu":
        return self
    scale = self.dtype.type(10.0 ** abs(decimals))
    return np.rint(self * scale) / scale if decimals > 0 else np.rint(self / scale) * scale


elementwise(
    "_round", lambda self: np.rint(self).astype(self.dtype), node="RoundBackward0", self=zero_gradient, kinds="fiu"
)
elementwise("_round_decimals", _round_decimals, node="RoundBackward1", tensors="self", self=zero_gradient, kinds="f")


def _nan_to_num(self: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    """``nan``, ``posinf`` and ``neginf`` in place of what is not finite (default: 0 and the largest numbers)."""
    if self.dtype.kind not in "fc":
        return self.copy()
    return np.nan_to_num(self, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


elementwise(
    "nan_to_num", _nan_to_num, promote="", inplace=True, real_only="nan_to_num",
    self=lambda g, self: F._where(F.isfinite(self), g, F.zeros_like(g)),
)  # fmt: skip


def _logit(self: Any, eps: float | None = None) -> Any:
    """``log(p / (1 - p))``; with ``eps``, ``p`` is first limited to ``[eps, 1 - eps]``."""
    if eps is not None:
        low, high = self.dtype.type(eps), self.dtype.type(1 - eps)
        self = np.where(self < low, low, np.where(self > high, high, self))
    return np.log(self / (1 - self))


def _logit_grad(g: Any, self: Any, eps: float | None) -> Any:
    slope = g / (self * (1 - self))
    if eps is None or eps < 0:
        return F._where((self < 0) | (self > 1), math.nan * F.ones_like(g), slope)
    return F._where((self < eps) | (self > 1 - eps), F.zeros_like(g), slope)


elementwise("logit", _logit, promote="float", tensors="self", self=_logit_grad, inplace=True, kinds="fiub")

# -- complex parts


def _angle(self: Any) -> Any:
    """The argument of a complex number; 0 or pi for a real one."""
    return np.angle(self) if self.dtype.kind == "c" else np.where(
        np.isnan(self), self, np.where(self < 0, self.dtype.type(math.pi), self.dtype.type(0))
    )  # fmt: skip


def is_complex(value: Any) -> bool:
    """Whether an array or a tensor holds complex numbers."""
    return bool(np.dtype(getattr(value.dtype, "numpy", value.dtype)).kind == "c")


def _angle_grad(g: Any, self: Any) -> Any:
    if not is_complex(self):
        return F.zeros_like(g)
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
    return self.view(f"c{self.dtype.itemsize * 2}")[..., 0]


linear(
    "view_as_real", _view_as_real, view=True, public=False, toggles=None, self=lambda g: F.view_as_complex(F._dense(g))
)
linear("view_as_complex", _view_as_complex, view=True, toggles=None, self=lambda g: F.view_as_real(g))
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

# -- questions


def _asking(ask: Any) -> Any:
    return lambda self: ask(self)


for _name, _ask in {"isneginf": np.isneginf, "isposinf": np.isposinf, "isreal": np.isreal}.items():
    nondifferentiable(_name, _asking(_ask))
