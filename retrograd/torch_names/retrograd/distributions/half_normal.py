"""``torch.distributions.half_normal``: re-exports only."""

from .normal import HalfNormal

__all__ = ["HalfNormal"]
