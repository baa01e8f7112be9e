"""``torch.distributions.gumbel``: re-exports only."""

from .heavy_tails import Gumbel

__all__ = ["Gumbel"]
