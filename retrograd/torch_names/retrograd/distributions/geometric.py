"""``torch.distributions.geometric``: re-exports only."""

from .bernoulli import Geometric

__all__ = ["Geometric"]
