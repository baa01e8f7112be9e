"""One of several categories: its number, or a vector with a single 1; and counts of several draws."""

from __future__ import annotations

import math
from typing import Any

from ..engine.core.dtypes import finfo
from ..engine.core.size import Size
from ..engine.methods import FUNCTIONS
from ..engine.switches.modes import no_grad
from . import constraints
from .bernoulli import Binomial
from .distribution import Distribution
from .kl import register_kl
from .parameters import exactly_one, given_parameter, lazy_property, logits_of, probs_of


class Categorical(Distribution):
    """The number of a category; ``probs`` (normalised here) or ``logits`` along the last dimension."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        exactly_one(probs, logits)
        given = probs if logits is None else logits
        if given.dim() < 1:
            name = "probs" if logits is None else "logits"
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if logits is None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        super().__init__(given.size()[:-1], (), validate_args)

    @lazy_property
    def probs(self) -> Any:
        """Probabilities that sum to 1."""
        return probs_of(self.logits)

    @lazy_property
    def logits(self) -> Any:
        """Their logarithms."""
        return logits_of(self.probs)

    _param = property(given_parameter)

    @property
    def _num_events(self) -> int:
        return int(self._param.size(-1))

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._param.size()

    @property
    def support(self) -> Any:
        """The numbers of the categories."""
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Any:
        """Categories have no mean: NaN."""
        return FUNCTIONS["full"](self._extended_shape(), math.nan, dtype=self.probs.dtype)

    variance = mean

    @property
    def mode(self) -> Any:
        """The likeliest category."""
        return self.probs.argmax(dim=-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Categories, by ``multinomial``."""
        with no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            drawn = FUNCTIONS["multinomial"](rows, math.prod(sample_shape), True)
            return drawn.T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm at that category."""
        self._validate_sample(value)
        value, log_pmf = FUNCTIONS["broadcast_tensors"](value.long().unsqueeze(-1), self.logits)
        return log_pmf.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        """``-Σ p log p``, with 0 for impossible categories."""
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        """All categories."""
        values = FUNCTIONS["arange"](self._num_events).view((-1,) + (1,) * len(self.batch_shape))
        return values.expand((-1, *self.batch_shape)) if expand else values


class _OverCategories(Distribution):
    """What is built on a ``Categorical``: its parameters, one of which ``arg_constraints`` name."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _categorical: Categorical

    @property
    def probs(self) -> Any:
        """Probabilities that sum to 1."""
        return self._categorical.probs

    @property
    def logits(self) -> Any:
        """Their logarithms."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._categorical.param_shape

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions, repeated."""
        made = super().expand(batch_shape)
        made._categorical = self._categorical.expand(batch_shape)
        return made


class OneHotCategorical(_OverCategories):
    """A vector with 1 at the category drawn."""

    __module__ = "retrograd.distributions.one_hot_categorical"

    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args)

    @property
    def mean(self) -> Any:
        """``probs``."""
        return self.probs

    @property
    def mode(self) -> Any:
        """1 at the likeliest category."""
        return self._one_hot(self.probs.argmax(-1))

    @property
    def variance(self) -> Any:
        """``probs (1 - probs)``."""
        return self.probs * (1 - self.probs)

    def _one_hot(self, categories: Any) -> Any:
        count = self._categorical._num_events
        return FUNCTIONS["eye"](count, dtype=self.probs.dtype)[categories]

    def sample(self, sample_shape: Any = ()) -> Any:
        """Vectors of draws."""
        with no_grad():
            return self._one_hot(self._categorical.sample(Size(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm at the 1."""
        self._validate_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Any:
        """That of the category."""
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        """The unit vectors."""
        count = self.event_shape[0]
        values = FUNCTIONS["eye"](count, dtype=self.probs.dtype).view(count, *(1,) * len(self.batch_shape), count)
        return values.expand((count, *self.batch_shape, count)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """With gradients that go to the probabilities as for a draw (Bengio et al. 2013)."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws in value, probabilities in gradient."""
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(_OverCategories):
    """How often each category came in ``total_count`` draws."""

    __module__ = "retrograd.distributions.multinomial"

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count, self._categorical = total_count, Categorical(probs, logits)
        Binomial(total_count, self.probs)  # the counts of one category: refuses a negative number of draws
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args)

    @property
    def support(self) -> Any:
        """Counts up to ``total_count``."""
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Any:
        """``probs · total_count``."""
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        """``total_count · probs (1 - probs)``."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Counts of draws."""
        with no_grad():
            drawn = self._categorical.sample(Size((self.total_count, *sample_shape)))
            return FUNCTIONS["eye"](self.event_shape[0], dtype=self.probs.dtype)[drawn].sum(0)

    def log_prob(self, value: Any) -> Any:
        """Logarithm of the multinomial coefficient and of the powers."""
        self._validate_sample(value)
        logits, value = FUNCTIONS["broadcast_tensors"](self.logits, value)
        logits = logits.clone()
        logits[(value == 0) & (logits == -math.inf)] = 0
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)

    def entropy(self) -> Any:
        """By the counts of each category, which are binomial."""
        n = FUNCTIONS["tensor"](float(self.total_count), dtype=self.probs.dtype)
        counts = FUNCTIONS["arange"](1.0, self.total_count + 1, dtype=self.probs.dtype)
        counts = counts.view((-1,) + (1,) * self.probs.dim())
        coefficient = (n + 1).lgamma() - (counts + 1).lgamma() - (n - counts + 1).lgamma()
        chances = (coefficient + counts * self.probs.log() + (n - counts) * (-self.probs).log1p()).exp()
        weighted = (chances * (counts + 1).lgamma()).sum((0, -1))
        return n * self._categorical.entropy() - (n + 1).lgamma() + weighted


@register_kl(Categorical, Categorical)
def _categorical_categorical(p: Any, q: Any) -> Any:
    apart = p.probs * (p.logits - q.logits)
    apart[(q.probs == 0).expand_as(apart)] = math.inf
    apart[(p.probs == 0).expand_as(apart)] = 0
    return apart.sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _onehot_onehot(p: Any, q: Any) -> Any:
    return _categorical_categorical(p._categorical, q._categorical)


DISTRIBUTIONS = ("Categorical", "Multinomial", "OneHotCategorical", "OneHotCategoricalStraightThrough")
