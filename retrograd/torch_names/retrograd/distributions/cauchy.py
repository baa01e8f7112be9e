"""``torch.distributions.cauchy``: re-exports only."""

from .heavy_tails import Cauchy

__all__ = ["Cauchy"]
