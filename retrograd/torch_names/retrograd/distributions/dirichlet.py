"""Distributions of probabilities: Dirichlet's of several that sum to 1, and beta of one."""

from __future__ import annotations

from typing import Any

from ..engine.methods import FUNCTIONS
from . import constraints
from .exp_family import ExponentialFamily
from .kl import register_kl
from .parameters import broadcast_all


class Dirichlet(ExponentialFamily):
    """Points of the simplex, with ``concentration`` along the last dimension."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _mean_carrier_measure = 0.0

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    @property
    def mean(self) -> Any:
        """``concentration`` over its sum."""
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Any:
        """``concentration - 1`` over its sum; a corner where all are below 1."""
        less = (self.concentration - 1).clamp(min=0.0)
        mode, corner = less / less.sum(-1, True), (self.concentration < 1).all(-1)
        highest = FUNCTIONS["eye"](self.event_shape[0], dtype=mode.dtype)[mode.nan_to_num().argmax(-1)]
        return highest.where(corner.unsqueeze(-1), mode)

    @property
    def variance(self) -> Any:
        """``c (s - c) / (s² (s + 1))`` with the sum ``s``."""
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Gamma numbers over their sum, in double precision: of small concentrations all may round to 0 in single."""
        concentration = self.concentration.expand(self._extended_shape(sample_shape))
        drawn = FUNCTIONS["_standard_gamma"](concentration.double())
        return (drawn / drawn.sum(-1, True)).to(concentration.dtype)

    def log_prob(self, value: Any) -> Any:
        """Logarithm of the density."""
        self._validate_sample(value)
        powers = (self.concentration - 1.0).xlogy(value).sum(-1)
        return powers + self.concentration.sum(-1).lgamma() - self.concentration.lgamma().sum(-1)

    def entropy(self) -> Any:
        """By the digamma function."""
        count, total = self.concentration.size(-1), self.concentration.sum(-1)
        normalizer = self.concentration.lgamma().sum(-1) - total.lgamma()
        slopes = ((self.concentration - 1.0) * self.concentration.digamma()).sum(-1)
        return normalizer - (count - total) * total.digamma() - slopes

    @property
    def _natural_params(self) -> Any:
        return (self.concentration,)

    def _log_normalizer(self, x: Any) -> Any:
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()


class Beta(ExponentialFamily):
    """The first of two probabilities that are Dirichlet-distributed."""

    __module__ = "retrograd.distributions.beta"

    arg_constraints = {
        "concentration1": constraints.positive, "concentration0": constraints.positive,
    }  # fmt: skip
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0.0

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        pair = FUNCTIONS["stack"](broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(pair, validate_args)
        super().__init__(self._dirichlet.batch_shape, (), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions, repeated."""
        made = super().expand(batch_shape)
        made._dirichlet = self._dirichlet.expand(batch_shape)
        return made

    @property
    def concentration1(self) -> Any:
        """Weight of 1."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Any:
        """Weight of 0."""
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Any:
        """``concentration1`` over the sum."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Any:
        """That of the Dirichlet distribution."""
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Any:
        """``a b / ((a + b)² (a + b + 1))``."""
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """The first of both."""
        return self._dirichlet.rsample(sample_shape)[..., 0]

    def log_prob(self, value: Any) -> Any:
        """That of the pair ``(value, 1 - value)``."""
        self._validate_sample(value)
        return self._dirichlet.log_prob(FUNCTIONS["stack"]([value, 1.0 - value], -1))

    def entropy(self) -> Any:
        """That of the pair."""
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> Any:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return x.lgamma() + y.lgamma() - (x + y).lgamma()


@register_kl(Dirichlet, Dirichlet)
def _dirichlet_dirichlet(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    normalizers = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return normalizers + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Beta, Beta)
def _beta_beta(p: Any, q: Any) -> Any:
    total, other = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    theirs = q.concentration1.lgamma() + q.concentration0.lgamma() + total.lgamma()
    ours = p.concentration1.lgamma() + p.concentration0.lgamma() + other.lgamma()
    first = (p.concentration1 - q.concentration1) * p.concentration1.digamma()
    second = (p.concentration0 - q.concentration0) * p.concentration0.digamma()
    return theirs - ours + first + second + (other - total) * total.digamma()


DISTRIBUTIONS = ("Beta", "Dirichlet")
