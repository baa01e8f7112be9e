"""``torch.distributions.laplace``: re-exports only."""

from .exponential import Laplace

__all__ = ["Laplace"]
