"""Batches of distributions as one distribution over arrays."""

from __future__ import annotations

from typing import Any

from . import constraints
from .distribution import Distribution
from .kl import kl_divergence, register_kl
from .parameters import sum_rightmost


class Independent(Distribution):
    """The last ``reinterpreted_batch_ndims`` dimensions of the batch of another distribution belong to its values."""

    def __init__(
        self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        joined = reinterpreted_batch_ndims
        if joined > len(base_distribution.batch_shape):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{joined} vs {len(base_distribution.batch_shape)}"
            )
        shape = tuple(base_distribution.batch_shape) + tuple(base_distribution.event_shape)
        kept = len(base_distribution.batch_shape) - joined
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, joined
        super().__init__(shape[:kept], shape[kept:], validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions, repeated."""
        joined = tuple(self.event_shape)[: self.reinterpreted_batch_ndims]
        return Independent(
            self.base_dist.expand((*batch_shape, *joined)), self.reinterpreted_batch_ndims, self._validate_args
        )

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """As the other one."""
        return bool(self.base_dist.has_rsample)

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        """As the other one, where nothing is joined."""
        return self.reinterpreted_batch_ndims == 0 and bool(self.base_dist.has_enumerate_support)

    @property
    def support(self) -> Any:
        """Arrays of values of the other one."""
        base = self.base_dist.support
        return constraints.independent(base, self.reinterpreted_batch_ndims) if self.reinterpreted_batch_ndims else base

    @property
    def mean(self) -> Any:
        """As the other one."""
        return self.base_dist.mean

    @property
    def mode(self) -> Any:
        """As the other one."""
        return self.base_dist.mode

    @property
    def variance(self) -> Any:
        """As the other one."""
        return self.base_dist.variance

    def sample(self, sample_shape: Any = ()) -> Any:
        """As the other one."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """As the other one."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        """The sum over the joined dimensions."""
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        """The sum over the joined dimensions."""
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Any:
        """As the other one, where nothing is joined."""
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


@register_kl(Independent, Independent)
def _independent_independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


DISTRIBUTIONS = ("Independent",)
