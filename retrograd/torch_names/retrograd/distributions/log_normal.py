"""``torch.distributions.log_normal``: re-exports only."""

from .normal import LogNormal

__all__ = ["LogNormal"]
