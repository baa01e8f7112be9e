"""Invertible maps of samples, with the logarithm of their Jacobian's determinant."""

from __future__ import annotations

import math
from typing import Any

from ..engine.core.dtypes import finfo
from ..engine.core.size import Size
from ..engine.methods import FUNCTIONS
from ..engine.tensors.tensor import Tensor
from ..nn import functional
from . import constraints
from .matrix_transforms import CorrCholeskyTransform, LowerCholeskyTransform, PositiveDefiniteTransform
from .parameters import broadcast_all, sum_rightmost
from .part_transforms import CatTransform, StackTransform
from .transform import ComposeTransform, IndependentTransform, Transform, identity_transform


class _Increasing(Transform):
    """A map of numbers that keeps their order."""

    bijective = True

    @property
    def sign(self) -> Any:
        """1."""
        return 1


class ExpTransform(_Increasing):
    """``exp(x)``."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """``x``."""
        return x


class PowerTransform(_Increasing):
    """``x ** exponent`` of positive numbers."""

    domain = codomain = constraints.positive

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def _settings(self) -> tuple[Any, ...]:
        return (self.exponent.tolist(),)

    @property
    def sign(self) -> Any:
        """That of the exponent."""
        return self.exponent.sign()

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """``log |exponent · y / x|``."""
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        """As wide as the exponents."""
        return FUNCTIONS["broadcast_shapes"](shape, self.exponent.shape)

    inverse_shape = forward_shape


def _inside(y: Any) -> Any:
    """Numbers away from 0 and 1, so that logarithms are finite."""
    limits = finfo(y.dtype)
    return y.clamp(min=limits.tiny, max=1.0 - limits.eps)


class SigmoidTransform(_Increasing):
    """``1 / (1 + exp(-x))``."""

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        return _inside(x.sigmoid())

    def _inverse(self, y: Any) -> Any:
        y = _inside(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """``-softplus(-x) - softplus(x)``."""
        return -functional.softplus(-x) - functional.softplus(x)


class SoftplusTransform(_Increasing):
    """``log(1 + exp(x))``."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return functional.softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """``-softplus(-x)``."""
        return -functional.softplus(-x)


class TanhTransform(_Increasing):
    """``tanh(x)``; its Jacobian is computed without ``y``, which is 1 for large ``x``."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """``log(1 - tanh²(x))``."""
        return 2.0 * (math.log(2.0) - x - functional.softplus(-2.0 * x))


class AbsTransform(Transform):
    """``|x|``; the inverse is the positive one."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class AffineTransform(Transform):
    """``loc + scale · x``."""

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale = loc, scale
        self.domain = self.codomain = (
            constraints.independent(constraints.real, event_dim) if event_dim else (constraints.real)
        )

    def _settings(self) -> tuple[Any, ...]:
        return (self.loc, self.scale)

    @property
    def sign(self) -> Any:
        """That of ``scale``."""
        return self.scale.sign() if hasattr(self.scale, "sign") else math.copysign(1, self.scale)

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """``log |scale|``."""
        return sum_rightmost((x * 0 + self.scale).abs().log(), self.domain.event_dim)

    def forward_shape(self, shape: Any) -> Any:
        """As wide as place and scale."""
        own = [setting.shape for setting in self._settings() if isinstance(setting, Tensor)]
        return FUNCTIONS["broadcast_shapes"](shape, *own)

    inverse_shape = forward_shape


class SoftmaxTransform(Transform):
    """``softmax(x)``: no bijection; the inverse is the logarithm."""

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x: Any) -> Any:
        parts = (x - x.max(-1, keepdim=True)[0]).exp()  # not `softmax`: the graph is to be PyTorch's
        return parts / parts.sum(-1, keepdim=True)

    def _inverse(self, y: Any) -> Any:
        return y.log()


class StickBreakingTransform(Transform):
    """Numbers to a point of the simplex: each takes its part of what those before have left."""

    bijective = True
    domain, codomain = constraints.real_vector, constraints.simplex

    @staticmethod
    def _offset(x: Any, count: int) -> Any:
        left = x.new_ones(count).cumsum(-1).flip(-1)
        return x - left.log()

    def _call(self, x: Any) -> Any:
        part = _inside(self._offset(x, x.shape[-1]).sigmoid())
        rest = (1 - part).cumprod(-1)
        return functional.pad(part, [0, 1], value=1) * functional.pad(rest, [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        cropped = y[..., :-1]
        count = cropped.shape[-1]
        rest = (1 - cropped.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return cropped.log() - rest.log() + cropped.new_ones(count).cumsum(-1).flip(-1).log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """``Σ (log y - x + log sigmoid x)`` of the shifted numbers."""
        x = self._offset(x, x.shape[-1])
        return (-x + functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        """One entry more."""
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape: Any) -> Any:
        """One entry less."""
        return shape[:-1] + (shape[-1] - 1,)


class ReshapeTransform(Transform):
    """Values of ``in_shape``, in another shape."""

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size)
        self.domain = constraints.independent(constraints.real, len(self.in_shape))
        self.codomain = constraints.independent(constraints.real, len(self.out_shape))

    def _settings(self) -> tuple[Any, ...]:
        return (self.in_shape, self.out_shape)

    def _call(self, x: Any) -> Any:
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y: Any) -> Any:
        return y.reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """0."""
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        """``out_shape`` in the place of ``in_shape``."""
        return _with_end(Size(shape), self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        """``in_shape`` in the place of ``out_shape``."""
        return _with_end(Size(shape), self.out_shape, self.in_shape)


def _with_end(shape: Any, old: Any, new: Any) -> Any:
    if len(shape) < len(old):
        raise ValueError("Too few dimensions on input")
    cut = len(shape) - len(old)
    if shape[cut:] != old:
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    return shape[:cut] + new


class CumulativeDistributionTransform(_Increasing):
    """The probability of values up to ``x`` of another distribution."""

    codomain = constraints.unit_interval

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution, self.domain = distribution, distribution.support

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the density."""
        return self.distribution.log_prob(x)


__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform",
]  # fmt: skip
