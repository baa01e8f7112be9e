"""``TransformedDistribution``: the distribution of samples to which a sequence of transforms was applied."""

from __future__ import annotations

from typing import Any

from ..engine.switches.modes import no_grad
from . import constraints
from .distribution import Distribution
from .independent import Independent
from .kl import kl_divergence, register_kl
from .parameters import sum_rightmost
from .transforms import ComposeTransform, Transform


class TransformedDistribution(Distribution):
    """Samples of ``base_distribution``, mapped by ``transforms``; the density by change of variables."""

    __module__ = "retrograd.distributions.transformed_distribution"

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        if not all(isinstance(transform, Transform) for transform in self.transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        together = ComposeTransform(self.transforms)
        own = tuple(base_distribution.batch_shape) + tuple(base_distribution.event_shape)
        wanted = together.domain.event_dim
        if len(own) < wanted:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {wanted}, but got {tuple(own)}."
            )
        made = tuple(together.forward_shape(own))
        needed = tuple(together.inverse_shape(made))
        if needed != own:  # a map has parameters for more distributions than there are
            kept = len(needed) - len(base_distribution.event_shape)
            base_distribution = base_distribution.expand(needed[:kept])
        joined = wanted - len(base_distribution.event_shape)
        self.base_dist: Any = Independent(base_distribution, joined) if joined > 0 else base_distribution
        widened = max(len(base_distribution.event_shape) - wanted, 0)
        cut = len(made) - together.codomain.event_dim - widened
        super().__init__(made[:cut], made[cut:], validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions, repeated."""
        made = super().expand(batch_shape)
        together = ComposeTransform(self.transforms)
        shape = together.inverse_shape((*batch_shape, *self.event_shape))
        kept = len(shape) - len(self.base_dist.event_shape)
        made.base_dist = self.base_dist.expand(shape[:kept])
        return made

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """As the other one."""
        return bool(self.base_dist.has_rsample)

    @property
    def support(self) -> Any:
        """Where the last map leads."""
        if not self.transforms:
            return self.base_dist.support
        last = self.transforms[-1].codomain
        more = len(self.event_shape) - last.event_dim
        return constraints.independent(last, more) if more > 0 else last

    def sample(self, sample_shape: Any = ()) -> Any:
        """Mapped samples."""
        with no_grad():
            return self._mapped(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Mapped samples with gradients."""
        return self._mapped(self.base_dist.rsample(sample_shape))

    def _mapped(self, value: Any) -> Any:
        for transform in self.transforms:
            value = transform(value)
        return value

    def log_prob(self, value: Any) -> Any:
        """That of the origin of ``value``, less the log determinants of the transforms."""
        self._validate_sample(value)
        width, spread = len(self.event_shape), 0.0
        for transform in reversed(self.transforms):
            origin = transform.inv(value)
            width += transform.domain.event_dim - transform.codomain.event_dim
            determinant = transform.log_abs_det_jacobian(origin, value)
            spread = spread - sum_rightmost(determinant, width - transform.domain.event_dim)
            value = origin
        return spread + sum_rightmost(self.base_dist.log_prob(value), width - len(self.base_dist.event_shape))

    def _sign(self) -> Any:
        return ComposeTransform(self.transforms).sign

    def cdf(self, value: Any) -> Any:
        """That of the origin, from the other side where the maps turn the order around."""
        self._validate_sample(value)
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        sign = self._sign()
        return sign * (self.base_dist.cdf(value) - 0.5) + 0.5

    def icdf(self, value: Any) -> Any:
        """The inverse of ``cdf``."""
        return self._mapped(self.base_dist.icdf(self._sign() * (value - 0.5) + 0.5))


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed_transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    width = len(p.event_shape) - len(p.base_dist.event_shape)
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), max(width, 0))


DISTRIBUTIONS = ("TransformedDistribution",)
