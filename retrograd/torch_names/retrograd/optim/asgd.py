"""``torch.optim.asgd``: re-exports only."""

from .descent import ASGD

__all__ = ["ASGD"]
