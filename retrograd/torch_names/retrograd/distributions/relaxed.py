"""Differentiable stand-ins for categories and coins: the Gumbel-softmax trick (Jang et al., Maddison et al. 2017)."""

from __future__ import annotations

import math
from typing import Any

from ..engine.core.dtypes import finfo
from ..engine.methods import FUNCTIONS
from . import constraints
from .bernoulli import Bernoulli
from .categorical import Categorical
from .distribution import Distribution
from .heavy_tails import Gumbel
from .parameters import clamped


class _Relaxed(Distribution):
    """Parameters and shapes of a distribution over categories, and a temperature."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_rsample = True
    _base: Any

    probs = property(lambda self: self._base.probs, doc="Probabilities.")
    logits = property(lambda self: self._base.logits, doc="Their logarithms, or log odds.")

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions, repeated."""
        made = super().expand(batch_shape)
        made._base = self._base.expand(batch_shape)
        return made


class RelaxedOneHotCategorical(_Relaxed):
    """Points of the simplex that come near its corners for low ``temperature``."""

    __module__ = "retrograd.distributions.relaxed_categorical"

    support = constraints.simplex

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._base, self.temperature = Categorical(probs, logits), temperature
        super().__init__(self._base.batch_shape, self._base.param_shape[-1:], validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """``softmax((logits + Gumbel noise) / temperature)``."""
        zero = FUNCTIONS["zeros"](self._extended_shape(sample_shape), dtype=self.logits.dtype)
        scores = (self.logits + Gumbel(zero, 1.0).rsample()) / self.temperature
        return (scores - scores.logsumexp(-1, keepdim=True)).exp()

    def log_prob(self, value: Any) -> Any:
        """Logarithm of the density on the simplex."""
        self._validate_sample(value)
        count, temperature = self.event_shape[0], FUNCTIONS["as_tensor"](self.temperature, dtype=value.dtype)
        score = self.logits - temperature * value.log()
        normalizer = math.lgamma(count) + (count - 1) * temperature.log()
        return (score - score.logsumexp(-1, keepdim=True)).sum(-1) + normalizer - value.log().sum(-1)


class RelaxedBernoulli(_Relaxed):
    """Numbers between 0 and 1 that come near the ends for low ``temperature``."""

    __module__ = "retrograd.distributions.relaxed_bernoulli"

    arg_constraints = Bernoulli.arg_constraints
    support = constraints.unit_interval

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._base, self.temperature = Bernoulli(probs, logits), temperature
        super().__init__(self._base.batch_shape, (), validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """``sigmoid((logits + logistic noise) / temperature)``."""
        shape = self._extended_shape(sample_shape)
        probs = clamped(self.probs.expand(shape))
        u = clamped(FUNCTIONS["rand"](shape, dtype=probs.dtype))
        apart = u.log() - (-u).log1p() + probs.log() - (-probs).log1p()
        limits = finfo(probs.dtype)
        return (apart / self.temperature).sigmoid().clamp(min=limits.tiny, max=1.0 - limits.eps)

    def log_prob(self, value: Any) -> Any:
        """Logarithm of the density of a logistic number, mapped by the sigmoid."""
        self._validate_sample(value)
        temperature = FUNCTIONS["as_tensor"](self.temperature, dtype=value.dtype)
        apart = self.logits - (value.log() - (-value).log1p()) * temperature
        return temperature.log() + apart - 2 * apart.exp().log1p() - value.log() - (-value).log1p()


DISTRIBUTIONS = ("RelaxedBernoulli", "RelaxedOneHotCategorical")
