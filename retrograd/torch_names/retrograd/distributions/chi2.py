"""``torch.distributions.chi2``: re-exports only."""

from .gamma import Chi2

__all__ = ["Chi2"]
