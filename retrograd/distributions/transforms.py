"""Invertible maps of samples, with the logarithm of their Jacobian's determinant."""

from __future__ import annotations

import math
from typing import Any

from ..nn import functional
from . import constraints
from .parameters import sum_rightmost
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
        self.exponent = exponent

    @property
    def sign(self) -> Any:
        """That of the exponent."""
        return self.exponent.sign() if hasattr(self.exponent, "sign") else math.copysign(1, self.exponent)

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """``log |exponent · y / x|``."""
        return (self.exponent * y / x).abs().log()


class SigmoidTransform(_Increasing):
    """``1 / (1 + exp(-x))``."""

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        return x.sigmoid()

    def _inverse(self, y: Any) -> Any:
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


class SoftmaxTransform(Transform):
    """``softmax(x)``: no bijection; the inverse is the logarithm."""

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x: Any) -> Any:
        return x.softmax(-1)

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
        part = self._offset(x, x.shape[-1]).sigmoid()
        rest = (1 - part).cumprod(-1)
        return functional.pad(part, [0, 1], value=1) * functional.pad(rest, [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        cropped = y[..., :-1]
        count = cropped.shape[-1]
        rest = (1 - cropped.cumsum(-1)).clamp(min=2.0**-126)
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


class LowerCholeskyTransform(Transform):
    """Matrices to lower triangular ones with a positive diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


__all__ = [
    "AbsTransform", "AffineTransform", "ComposeTransform", "ExpTransform", "IndependentTransform",
    "LowerCholeskyTransform", "PowerTransform", "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform",
    "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform",
]  # fmt: skip
