"""``torch.distributions.poisson``: re-exports only."""

from .gamma import Poisson

__all__ = ["Poisson"]
