"""Mixtures of distributions of one kind."""

from __future__ import annotations

from typing import Any

from ..engine.switches.modes import no_grad
from . import constraints
from .categorical import Categorical
from .distribution import Distribution


class MixtureSameFamily(Distribution):
    """The last dimension of the batch of ``component_distribution``, chosen by ``mixture_distribution``."""

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        chosen, own = mixture_distribution.logits.shape[-1], component_distribution.batch_shape
        if own and chosen != own[-1]:
            raise ValueError(
                f"`mixture_distribution component` ({chosen}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({own[-1]})"
            )
        super().__init__(own[:-1], component_distribution.event_shape, validate_args)

    mixture_distribution = property(lambda self: self._mixture_distribution, doc="Which one is chosen.")
    component_distribution = property(lambda self: self._component_distribution, doc="Those to choose from.")

    @property
    def support(self) -> Any:
        """That of the components."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    def _weights(self) -> Any:
        probs = self._mixture_distribution.probs
        return probs.reshape(tuple(probs.shape) + (1,) * len(self.event_shape))

    def _weighted(self, values: Any) -> Any:
        return (self._weights() * values).sum(-1 - len(self.event_shape))

    @property
    def mean(self) -> Any:
        """The weighted mean of the means."""
        return self._weighted(self._component_distribution.mean)

    @property
    def variance(self) -> Any:
        """The mean of the variances and the variance of the means."""
        apart = self._component_distribution.mean - self.mean.unsqueeze(-1 - len(self.event_shape))
        return self._weighted(self._component_distribution.variance) + self._weighted(apart.pow(2))

    def cdf(self, value: Any) -> Any:
        """The weighted sum."""
        return (self._component_distribution.cdf(self._padded(value)) * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Any) -> Any:
        """``logsumexp`` of the weighted components."""
        self._validate_sample(value)
        weights = self._mixture_distribution.logits.log_softmax(-1)
        return (self._component_distribution.log_prob(self._padded(value)) + weights).logsumexp(-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values of chosen components."""
        with no_grad():
            chosen = self._mixture_distribution.sample(sample_shape)
            values = self._component_distribution.sample(sample_shape)
            at, events = len(sample_shape) + len(self.batch_shape), len(self.event_shape)
            index = chosen.reshape(tuple(chosen.shape) + (1,) * (events + 1))
            return values.gather(at, index.expand(*chosen.shape, 1, *self.event_shape)).squeeze(at)

    def _padded(self, value: Any) -> Any:
        return value.unsqueeze(-1 - len(self.event_shape))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same mixtures, repeated."""
        components = self._component_distribution.expand((*batch_shape, self._mixture_distribution._num_events))
        return MixtureSameFamily(self._mixture_distribution.expand(batch_shape), components, self._validate_args)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"


DISTRIBUTIONS = ("MixtureSameFamily",)
