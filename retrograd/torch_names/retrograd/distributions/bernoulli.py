"""Coins: one throw, the throws before the first success, the successes among several."""

from __future__ import annotations

import math
from typing import Any

from ..engine.methods import FUNCTIONS
from ..engine.switches.modes import no_grad
from ..nn import functional
from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .kl import register_kl
from .parameters import broadcast_all, clamped, exactly_one, given_parameter, lazy_property, logits_of, probs_of


class Coin(Distribution):
    """What the distributions with a probability of success share: ``probs`` or ``logits``, each from the other."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}

    def _take(self, probs: Any, logits: Any) -> None:
        exactly_one(probs, logits)
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)

    def _take_counted(self, total_count: Any, probs: Any, logits: Any) -> None:
        """Take numbers of throws or failures as well, broadcast with the chance."""
        exactly_one(probs, logits)
        name, given = ("probs", probs) if logits is None else ("logits", logits)
        counts, parameter = broadcast_all(total_count, given)
        self.total_count = counts.type_as(parameter)
        setattr(self, name, parameter)

    _param = property(given_parameter)

    @lazy_property
    def probs(self) -> Any:
        """Probability of success."""
        return probs_of(self.logits, binary=True)

    @lazy_property
    def logits(self) -> Any:
        """Its log odds."""
        return logits_of(self.probs, binary=True)


def cross_entropy(logits: Any, target: Any) -> Any:
    """The binary cross entropy of log odds with a value between 0 and 1."""
    logits, target = broadcast_all(logits, target)
    return functional.binary_cross_entropy_with_logits(logits, target, reduction="none")


class Bernoulli(Coin, ExponentialFamily):
    """1 with probability ``probs``, else 0."""

    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0.0

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._take(probs, logits)
        super().__init__(self._param.size(), (), validate_args)

    @property
    def mean(self) -> Any:
        """``probs``."""
        return self.probs

    @property
    def mode(self) -> Any:
        """The likelier one; NaN for a fair coin."""
        return (self.probs >= 0.5).to(self.probs).masked_fill(self.probs == 0.5, math.nan)

    @property
    def variance(self) -> Any:
        """``probs (1 - probs)``."""
        return self.probs * (1 - self.probs)

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._param.size()

    def sample(self, sample_shape: Any = ()) -> Any:
        """Throws."""
        with no_grad():
            return self.probs.expand(self._extended_shape(sample_shape)).bernoulli()

    def log_prob(self, value: Any) -> Any:
        """Minus the binary cross entropy."""
        self._validate_sample(value)
        return -cross_entropy(self.logits, value)

    def entropy(self) -> Any:
        """The binary cross entropy with itself."""
        return cross_entropy(self.logits, self.probs)

    def enumerate_support(self, expand: bool = True) -> Any:
        """0 and 1."""
        values = FUNCTIONS["arange"](2, dtype=self._param.dtype).view((-1,) + (1,) * len(self.batch_shape))
        return values.expand((-1, *self.batch_shape)) if expand else values

    @property
    def _natural_params(self) -> Any:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Any:
        return functional.softplus(x)


class Geometric(Coin):
    """The number of failures before the first success."""

    __module__ = "retrograd.distributions.geometric"

    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._take(probs, logits)
        super().__init__(self._param.size(), (), validate_args)
        if self._validate_args and probs is not None:
            self._check_possible()

    def _check_possible(self) -> None:
        """``ValueError`` for a probability of 0, with which success never comes."""
        never = ~(self.probs > 0)
        if bool(never.any()):
            raise ValueError(
                f"Expected parameter probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) of "
                f"distribution {self!r} to be positive but found invalid values:\n{self.probs.detach()[never]}"
            )

    @property
    def mean(self) -> Any:
        """``1/probs - 1``."""
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Any:
        """0."""
        return self.probs * 0

    @property
    def variance(self) -> Any:
        """``(1/probs - 1) / probs``."""
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Any:
        """``floor(log u / log(1 - probs))``."""
        with no_grad():
            tiny = 2.0**-126
            u = FUNCTIONS["rand"](self._extended_shape(sample_shape), dtype=self.probs.dtype).clamp(min=tiny)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Any) -> Any:
        """``value · log(1 - probs) + log probs``."""
        self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.clone()
        probs[(probs == 1) & (value == 0)] = 0  # no failure, whose chance does not count
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Any:
        """That of a coin, once for each throw."""
        return cross_entropy(self.logits, self.probs) / self.probs


class Binomial(Coin):
    """The number of successes in ``total_count`` throws."""

    __module__ = "retrograd.distributions.binomial"

    arg_constraints = {
        "total_count": constraints.nonnegative_integer, **Coin.arg_constraints,
    }  # fmt: skip
    has_enumerate_support = True

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._take_counted(total_count, probs, logits)
        super().__init__(self._param.size(), (), validate_args)

    @property
    def support(self) -> Any:
        """Whole numbers up to ``total_count``."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Any:
        """``total_count · probs``."""
        return self.total_count * self.probs

    @property
    def mode(self) -> Any:
        """``floor((total_count + 1) · probs)``, at most ``total_count``."""
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Any:
        """``total_count · probs (1 - probs)``."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Counts."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return FUNCTIONS["binomial"](self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        """Logarithm of the binomial coefficient and of both powers, from log odds without overflow."""
        self._validate_sample(value)
        n, logits = self.total_count, self.logits
        above = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2  # with a slope of 1/2 at 0
        normalizer = n * above + n * (-logits.abs()).exp().log1p() - (n + 1).lgamma()
        return value * logits - (value + 1).lgamma() - (n - value + 1).lgamma() - normalizer

    def entropy(self) -> Any:
        """The sum over all counts; for equal ``total_count`` only."""
        if not bool((self.total_count == self.total_count.max()).all()):
            raise NotImplementedError("Inhomogeneous total count not supported by `entropy`.")
        chances = self.log_prob(self.enumerate_support(False))
        return -(chances.exp() * chances).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        """0 to ``total_count``; for equal ``total_count`` only."""
        most = int(self.total_count.max())
        if not bool((self.total_count == most).all()):
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        values = FUNCTIONS["arange"](1 + most, dtype=self._param.dtype).view((-1,) + (1,) * len(self.batch_shape))
        return values.expand((-1, *self.batch_shape)) if expand else values


@register_kl(Bernoulli, Bernoulli)
def _bernoulli_bernoulli(p: Any, q: Any) -> Any:
    soft = functional.softplus
    success = p.probs * (soft(-q.logits) - soft(-p.logits))
    success[q.probs == 0] = math.inf
    success[p.probs == 0] = 0
    failure = (1 - p.probs) * (soft(q.logits) - soft(p.logits))
    failure[q.probs == 1] = math.inf
    failure[p.probs == 1] = 0
    return success + failure


@register_kl(Geometric, Geometric)
def _geometric_geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - (-q.probs).log1p() / p.probs - clamped(q.logits.sigmoid()).log() + (-q.probs).log1p()


@register_kl(Binomial, Binomial)
def _binomial_binomial(p: Any, q: Any) -> Any:
    apart = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return apart.masked_fill(p.total_count > q.total_count, math.inf)


DISTRIBUTIONS = ("Bernoulli", "Binomial", "Geometric")
