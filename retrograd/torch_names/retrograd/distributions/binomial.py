"""``torch.distributions.binomial``: re-exports only."""

from .bernoulli import Binomial

__all__ = ["Binomial"]
