"""Base class of transforms of samples, and their inverses and compositions."""

from __future__ import annotations

import copy
import math
from typing import Any

from . import constraints
from .parameters import sum_rightmost


class Transform:
    """A map from ``domain`` to ``codomain``; a subclass writes ``_call``, ``_inverse`` and the log determinant."""

    __module__ = "retrograd.distributions.transforms"

    bijective = False
    domain: Any = constraints.real
    codomain: Any = constraints.real

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._last: tuple[Any, Any] = (None, None)

    @property
    def event_dim(self) -> int:
        """The same as of domain and codomain, where they agree."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return int(self.domain.event_dim)

    def __call__(self, x: Any) -> Any:
        """Apply; with ``cache_size=1`` the inverse of the last result is remembered."""
        if not self._cache_size:
            return self._call(x)
        if x is not self._last[0]:
            self._last = (x, self._call(x))
        return self._last[1]

    def _inv_call(self, y: Any) -> Any:
        if not self._cache_size:
            return self._inverse(y)
        if y is not self._last[1]:
            self._last = (self._inverse(y), y)
        return self._last[0]

    @property
    def inv(self) -> Transform:
        """The map back."""
        return _Inverse(self)

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same map that remembers ``cache_size`` results."""
        if cache_size == self._cache_size:
            return self
        made = copy.copy(self)
        Transform.__init__(made, cache_size)
        return made

    @property
    def sign(self) -> Any:
        """1 for increasing, -1 for decreasing maps of numbers."""
        raise NotImplementedError

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """``log |det dy/dx|`` for ``y`` that came from ``x``."""
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> Any:
        """The shape of what comes out."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of what went in."""
        return shape

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._settings() == getattr(other, "_settings", tuple)()

    __hash__ = object.__hash__

    def _settings(self) -> tuple[Any, ...]:
        return ()

    def __repr__(self) -> str:
        return type(self).__name__ + "()"


class _Inverse(Transform):
    """The inverse of another map."""

    def __init__(self, forward: Transform) -> None:
        super().__init__()
        self._forward = forward
        self.domain, self.codomain, self.bijective = forward.codomain, forward.domain, forward.bijective

    @property
    def inv(self) -> Transform:
        return self._forward

    @property
    def sign(self) -> Any:
        return self._forward.sign

    def __call__(self, x: Any) -> Any:
        return self._forward._inv_call(x)

    def _inverse(self, y: Any) -> Any:
        return self._forward(y)

    _inv_call = _inverse

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._forward.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._forward.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._forward.forward_shape(shape)

    def _settings(self) -> tuple[Any, ...]:
        return (self._forward,)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._forward!r})"


class ComposeTransform(Transform):
    """Several maps, the first first."""

    __module__ = "retrograd.distributions.transforms"

    def __init__(self, parts: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) if cache_size else part for part in parts]
        self.bijective = all(part.bijective for part in self.parts)
        if self.parts:
            self.domain, self.codomain = _widest_domain(self.parts), _widest_codomain(self.parts)

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same maps, each of which remembers ``cache_size`` results."""
        if cache_size == self._cache_size:
            return self
        return ComposeTransform(self.parts, cache_size)

    @property
    def sign(self) -> Any:
        """The product of the signs."""
        return math.prod(part.sign for part in self.parts)

    def _call(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Any) -> Any:
        for part in reversed(self.parts):
            y = part.inv(y)
        return y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The sum over the maps, each over the dimensions that make one value there."""
        if not self.parts:
            return x * 0
        width, total = self.domain.event_dim, 0.0
        for part in self.parts:
            following = y if part is self.parts[-1] else part(x)
            total = total + sum_rightmost(part.log_abs_det_jacobian(x, following), width - part.domain.event_dim)
            width += part.codomain.event_dim - part.domain.event_dim
            x = following
        return total

    def forward_shape(self, shape: Any) -> Any:
        """Through all maps."""
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """Back through all maps."""
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def _settings(self) -> tuple[Any, ...]:
        return tuple(self.parts)

    def __repr__(self) -> str:
        return "ComposeTransform(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"


def _widened(constraint: Any, event_dim: int) -> Any:
    """The set whose elements are arrays of ``event_dim`` dimensions of elements of ``constraint``."""
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


def _widest_domain(parts: list[Transform]) -> Any:
    """The domain of the first map, as wide as a later one needs it."""
    event_dim = parts[-1].codomain.event_dim
    for part in reversed(parts):
        event_dim = max(event_dim + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
    return _widened(parts[0].domain, event_dim)


def _widest_codomain(parts: list[Transform]) -> Any:
    """The codomain of the last map, as wide as an earlier one makes it."""
    event_dim = parts[0].domain.event_dim
    for part in parts:
        event_dim = max(event_dim + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
    return _widened(parts[-1].codomain, event_dim)


class IndependentTransform(Transform):
    """Another map, the last ``reinterpreted_batch_ndims`` dimensions of whose batches make one value."""

    __module__ = "retrograd.distributions.transforms"

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform, self.reinterpreted_batch_ndims = base_transform, reinterpreted_batch_ndims
        self.bijective = base_transform.bijective
        self.domain = constraints.independent(base_transform.domain, reinterpreted_batch_ndims)
        self.codomain = constraints.independent(base_transform.codomain, reinterpreted_batch_ndims)

    def _call(self, x: Any) -> Any:
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Summed over those dimensions."""
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


identity_transform = ComposeTransform([])
