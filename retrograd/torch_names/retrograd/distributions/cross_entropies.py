"""Divergences between different families: the expected ``-log q`` under ``p``, less the entropy of ``p``.

Of ``p`` only a few expected values count: mean and variance for a normal ``q``, the mean for an exponential one, that
of ``log x`` for gamma, beta and Pareto, that of ``exp(-x / scale)`` for Gumbel.
"""

from __future__ import annotations

import math
from typing import Any

from ..engine.methods import FUNCTIONS
from .bernoulli import Bernoulli, Binomial
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Beta
from .exponential import Exponential, Laplace
from .gamma import Gamma, Poisson
from .heavy_tails import Gumbel
from .kl import register_kl
from .normal import Normal
from .pareto import Pareto
from .uniform import Uniform


def _x_log_x(x: Any) -> Any:
    return x.xlogy(x)


def _mean(p: Any) -> Any:
    """The mean; of Pareto where there is one, elsewhere something finite, so that gradients are 0 and not NaN."""
    return p.alpha * p.scale / (p.alpha - 1) if isinstance(p, Pareto) else p.mean


def _variance(p: Any) -> Any:
    """The variance; of Pareto where there is one, elsewhere something finite."""
    return _mean(p).pow(2) / (p.alpha * (p.alpha - 2)) if isinstance(p, Pareto) else p.variance


def _mean_of_log(p: Any) -> Any:
    """Expected ``log x``."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Uniform):
        return (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1
    return p.scale.log() + p.alpha.reciprocal()  # Pareto


def _mean_of_decay(p: Any, scale: Any) -> Any:
    """Expected ``exp(-x / scale)``."""
    if isinstance(p, Exponential):
        return p.rate * scale / (p.rate * scale + 1)
    if isinstance(p, Gamma):
        return (1 + (p.rate * scale).reciprocal()).pow(-p.concentration)
    if isinstance(p, Normal):
        return (0.5 * (p.scale / scale).pow(2) - p.loc / scale).exp()
    if isinstance(p, Gumbel):
        return ((1 + p.scale / scale).lgamma() - p.loc / scale).exp()
    return scale / (p.high - p.low) * ((-p.low / scale).exp() - (-p.high / scale).exp())  # Uniform


def _under_normal(p: Any, q: Any) -> Any:
    spread = (_variance(p) + (_mean(p) - q.loc).pow(2)) / (2 * q.scale.pow(2))
    return 0.5 * math.log(2 * math.pi) + q.scale.log() + spread


def _under_exponential(p: Any, q: Any) -> Any:
    return q.rate * _mean(p) - q.rate.log()


def _under_gamma(p: Any, q: Any) -> Any:
    c = q.concentration
    return c.lgamma() - c * q.rate.log() - (c - 1) * _mean_of_log(p) + q.rate * _mean(p)


def _under_pareto(p: Any, q: Any) -> Any:
    return (q.alpha + 1) * _mean_of_log(p) - q.alpha.log() - q.alpha * q.scale.log()


def _under_gumbel(p: Any, q: Any) -> Any:
    return q.scale.log() + (p.mean - q.loc) / q.scale + (q.loc / q.scale).exp() * _mean_of_decay(p, q.scale)


def _under_continuous_bernoulli(p: Any, q: Any) -> Any:
    return -p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()


def _under_uniform(p: Any, q: Any) -> Any:
    return (q.high - q.low).log()


def _under_beta(p: Any, q: Any) -> Any:
    """For a uniform ``p``."""
    one, zero = q.concentration1, q.concentration0
    rest = (_x_log_x(1 - p.low) - _x_log_x(1 - p.high)) / (p.high - p.low) - 1
    return one.lgamma() + zero.lgamma() - (one + zero).lgamma() - (one - 1) * _mean_of_log(p) - (zero - 1) * rest


def _under_laplace(p: Any, q: Any) -> Any:
    """For a normal ``p``: the mean distance is that of a folded normal number."""
    z = (p.loc - q.loc) / p.scale
    distance = math.sqrt(2 / math.pi) * (-0.5 * z.pow(2)).exp() + z * (math.sqrt(0.5) * z).erf()
    return (2 * q.scale).log() + p.scale * distance / q.scale


def _under_poisson(p: Any, q: Any) -> Any:
    """For a coin, whose values have the factorial 1."""
    return q.rate - p.probs * q.rate.log()


_CROSS_ENTROPIES: dict[type, tuple[Any, tuple[type, ...]]] = {
    Normal: (_under_normal, (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto)),
    Exponential: (_under_exponential, (Beta, ContinuousBernoulli, Pareto, Uniform)),
    Gamma: (_under_gamma, (Beta, Pareto, Uniform)),
    Pareto: (_under_pareto, (Uniform,)),
    Gumbel: (_under_gumbel, (Exponential, Gamma, Gumbel, Normal, Uniform)),
    ContinuousBernoulli: (_under_continuous_bernoulli, (Beta, Uniform)),
    Uniform: (_under_uniform, (Beta, ContinuousBernoulli)),
    Beta: (_under_beta, (Uniform,)),
    Laplace: (_under_laplace, (Normal,)),
    Poisson: (_under_poisson, (Bernoulli,)),
}

# Pairs of which the second excludes values of the first only for some parameters: where it does.
_EXCLUDED: dict[tuple[type, type], Any] = {
    (Uniform, Exponential): lambda p, q: p.low < 0,
    (Uniform, Gamma): lambda p, q: p.low < 0,
    (Uniform, Pareto): lambda p, q: p.low < q.scale,
    (Uniform, Beta): lambda p, q: (p.high > 1) | (p.low < 0),
    (Uniform, ContinuousBernoulli): lambda p, q: (p.high >= 1) | (p.low <= 0),  # as PyTorch's, ends included
    (Beta, Uniform): lambda p, q: (q.low > 0) | (q.high < 1),
    (ContinuousBernoulli, Uniform): lambda p, q: (q.low >= 0) | (q.high <= 1),  # as PyTorch's
    (Pareto, Exponential): lambda p, q: p.alpha <= 1,
    (Pareto, Gamma): lambda p, q: p.alpha <= 1,
    (Pareto, Normal): lambda p, q: p.alpha <= 2,
}

# Pairs of which the second always excludes values of the first.
_INFINITE: dict[type, tuple[type, ...]] = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}


def _register(first: type, second: type, cross_entropy: Any) -> None:
    excluded = _EXCLUDED.get((first, second))

    @register_kl(first, second)
    def divergence(p: Any, q: Any) -> Any:
        found = cross_entropy(p, q) - p.entropy()
        return found if excluded is None else found.masked_fill(excluded(p, q), math.inf)


def _register_infinite(first: type, second: type) -> None:
    @register_kl(first, second)
    def divergence(p: Any, q: Any) -> Any:
        return FUNCTIONS["full_like"](p.mean, math.inf)


for _second, (_cross_entropy, _firsts) in _CROSS_ENTROPIES.items():
    for _first in _firsts:
        _register(_first, _second, _cross_entropy)
for _first, _seconds in _INFINITE.items():
    for _second in _seconds:
        _register_infinite(_first, _second)
