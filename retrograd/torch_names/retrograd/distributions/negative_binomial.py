"""The negative binomial distribution: counts that vary more than those of a Poisson distribution."""

from __future__ import annotations

from typing import Any

from ..engine.methods import FUNCTIONS
from ..engine.switches.modes import no_grad
from ..nn import functional
from . import constraints
from .bernoulli import Coin
from .gamma import Gamma


class NegativeBinomial(Coin):
    """The number of successes before ``total_count`` failures; ``total_count`` need not be whole."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0), "logits": constraints.real,
    }  # fmt: skip
    support = constraints.nonnegative_integer

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._take_counted(total_count, probs, logits)
        super().__init__(self._param.size(), (), validate_args)

    @property
    def mean(self) -> Any:
        """``total_count`` times the odds."""
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Any:
        """``floor((total_count - 1) · odds)``, at least 0."""
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Any:
        """The mean over the probability of a failure."""
        return self.mean / (-self.logits).sigmoid()

    def sample(self, sample_shape: Any = ()) -> Any:
        """Poisson counts whose rates are gamma numbers."""
        with no_grad():
            rates = Gamma(self.total_count, (-self.logits).exp(), validate_args=False).sample(sample_shape)
            return FUNCTIONS["poisson"](rates)

    def log_prob(self, value: Any) -> Any:
        """Logarithm of the coefficient and of both powers; none of zero failures is certain."""
        self._validate_sample(value)
        n, soft = self.total_count, functional.logsigmoid
        powers = n * soft(-self.logits) + value * soft(self.logits)
        norm = -(n + value).lgamma() + (1.0 + value).lgamma() + n.lgamma()
        return powers - norm.masked_fill(n + value == 0, 0.0)


DISTRIBUTIONS = ("NegativeBinomial",)
