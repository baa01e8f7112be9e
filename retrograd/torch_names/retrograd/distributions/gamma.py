"""The gamma distribution, and chi-square as its special case; Poisson counts."""

from __future__ import annotations

from typing import Any

from ..engine.core.dtypes import finfo
from ..engine.methods import FUNCTIONS
from ..engine.switches.modes import no_grad
from . import constraints
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .kl import register_kl
from .parameters import broadcast_all


class Gamma(ExponentialFamily):
    """Gamma with shape ``concentration`` and ``rate``."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0.0

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.size(), (), validate_args)

    @property
    def mean(self) -> Any:
        """``concentration / rate``."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        """``(concentration - 1) / rate``, at least 0."""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Any:
        """``concentration / rate²``."""
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Standard gamma numbers over the rate; the concentration gets its gradient implicitly."""
        shape = self._extended_shape(sample_shape)
        value = FUNCTIONS["_standard_gamma"](self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=finfo(value.dtype).tiny)
        return value

    def log_prob(self, value: Any) -> Any:
        """Logarithm of the density."""
        value = FUNCTIONS["as_tensor"](value, dtype=self.rate.dtype)
        self._validate_sample(value)
        a, rate = self.concentration, self.rate
        return FUNCTIONS["xlogy"](a, rate) + FUNCTIONS["xlogy"](a - 1, value) - rate * value - a.lgamma()

    def cdf(self, value: Any) -> Any:
        """The regularised lower incomplete gamma function."""
        self._validate_sample(value)
        return FUNCTIONS["igamma"](self.concentration, self.rate * value)

    def entropy(self) -> Any:
        """``a - log rate + log Γ(a) + (1 - a) ψ(a)``."""
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1.0 - a) * a.digamma()

    @property
    def _natural_params(self) -> Any:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return (x + 1).lgamma() - (x + 1) * (-y).log()


class Chi2(Gamma):
    """The sum of ``df`` squared standard normal numbers."""

    __module__ = "retrograd.distributions.chi2"

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions, repeated."""
        made = super().expand(batch_shape)
        made.concentration, made.rate = self.concentration.expand(batch_shape), self.rate.expand(batch_shape)
        return made

    @property
    def df(self) -> Any:
        """Degrees of freedom."""
        return self.concentration * 2


class Poisson(ExponentialFamily):
    """Counts of events with expected number ``rate``."""

    __module__ = "retrograd.distributions.poisson"

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), (), validate_args)

    @property
    def mean(self) -> Any:
        """``rate``."""
        return self.rate

    @property
    def mode(self) -> Any:
        """``floor(rate)``."""
        return self.rate.floor()

    variance = mean

    def sample(self, sample_shape: Any = ()) -> Any:
        """Counts."""
        with no_grad():
            return FUNCTIONS["poisson"](self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """``value log rate - rate - log value!``."""
        self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> Any:
        return (self.rate.log(),)

    def _log_normalizer(self, x: Any) -> Any:
        return x.exp()


@register_kl(Gamma, Gamma)
def _gamma_gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    shapes = b.lgamma() - a.lgamma()
    return b * (p.rate / q.rate).log() + shapes + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Any, q: Any) -> Any:
    return _gamma_gamma(Gamma(FUNCTIONS["ones_like"](p.rate), p.rate), q)


@register_kl(Gamma, Exponential)
def _gamma_exponential(p: Any, q: Any) -> Any:
    return _gamma_gamma(p, Gamma(FUNCTIONS["ones_like"](q.rate), q.rate))


@register_kl(Poisson, Poisson)
def _poisson_poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


DISTRIBUTIONS = ("Chi2", "Gamma", "Poisson")
