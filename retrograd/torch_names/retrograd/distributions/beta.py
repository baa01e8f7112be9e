"""``torch.distributions.beta``: re-exports only."""

from .dirichlet import Beta

__all__ = ["Beta"]
