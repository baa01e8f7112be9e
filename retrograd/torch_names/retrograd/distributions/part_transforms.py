"""Maps that treat each part of a tensor along a dimension by a map of its own."""

from __future__ import annotations

from typing import Any

from ..engine.methods import FUNCTIONS
from . import constraints
from .parameters import sum_rightmost
from .transform import Transform


class _Parts(Transform):
    """A sequence of maps along ``dim``."""

    def __init__(self, tseq: Any, dim: int, cache_size: int) -> None:
        super().__init__(cache_size)
        self.transforms, self.dim = list(tseq), dim
        if not all(isinstance(transform, Transform) for transform in self.transforms):
            raise AssertionError("All elements of tseq must be Transform instances")
        if cache_size:
            self.transforms = [transform.with_cache(cache_size) for transform in self.transforms]
        self.bijective = all(transform.bijective for transform in self.transforms)

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same map, the parts of which remember ``cache_size`` results, too."""
        made = super().with_cache(cache_size)
        if made is not self:
            made.transforms = [transform.with_cache(cache_size) for transform in self.transforms]
        return made

    def _counted(self, value: Any, expected: int, name: str) -> None:
        """``AssertionError`` unless ``value`` has ``expected`` entries along the dimension."""
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for tensor with {value.dim()} dimensions")
        if value.size(self.dim) != expected:
            raise AssertionError(f"x.size({self.dim}) = {value.size(self.dim)} must equal {name} {expected}")


class CatTransform(_Parts):
    """Each map for as many entries along ``dim`` as ``lengths`` says."""

    __module__ = "retrograd.distributions.transforms"

    def __init__(self, tseq: Any, dim: int = 0, lengths: Any = None, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")
        self.domain = constraints.cat([one.domain for one in self.transforms], dim, self.lengths)
        self.codomain = constraints.cat([one.codomain for one in self.transforms], dim, self.lengths)

    @property
    def event_dim(self) -> int:
        """The most that a part has."""
        return max(int(transform.event_dim) for transform in self.transforms)

    @property
    def length(self) -> int:
        """How many entries there are along the dimension."""
        return sum(self.lengths)

    def _split(self, value: Any) -> Any:
        self._counted(value, self.length, "length")
        return value.split(self.lengths, self.dim)

    def _call(self, x: Any) -> Any:
        pairs = zip(self.transforms, self._split(x), strict=True)
        return FUNCTIONS["cat"]([transform(part) for transform, part in pairs], self.dim)

    def _inverse(self, y: Any) -> Any:
        pairs = zip(self.transforms, self._split(y), strict=True)
        return FUNCTIONS["cat"]([transform.inv(part) for transform, part in pairs], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Those of the parts; their sum where the dimension lies inside of a value."""
        found = [
            sum_rightmost(one.log_abs_det_jacobian(a, b), self.event_dim - one.event_dim)
            for one, a, b in zip(self.transforms, self._split(x), self._split(y), strict=True)
        ]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return FUNCTIONS["cat"](found, dim) if dim < 0 else sum(found)


class StackTransform(_Parts):
    """Each map for one entry along ``dim``."""

    __module__ = "retrograd.distributions.transforms"

    def __init__(self, tseq: Any, dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)
        self.domain = constraints.stack([one.domain for one in self.transforms], dim)
        self.codomain = constraints.stack([one.codomain for one in self.transforms], dim)

    def _entries(self, value: Any) -> Any:
        self._counted(value, len(self.transforms), "len(transforms)")
        return value.unbind(self.dim)

    def _call(self, x: Any) -> Any:
        pairs = zip(self.transforms, self._entries(x), strict=True)
        return FUNCTIONS["stack"]([transform(entry) for transform, entry in pairs], self.dim)

    def _inverse(self, y: Any) -> Any:
        pairs = zip(self.transforms, self._entries(y), strict=True)
        return FUNCTIONS["stack"]([transform.inv(entry) for transform, entry in pairs], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Those of the entries."""
        triples = zip(self.transforms, self._entries(x), self._entries(y), strict=True)
        return FUNCTIONS["stack"]([one.log_abs_det_jacobian(a, b) for one, a, b in triples], self.dim)
