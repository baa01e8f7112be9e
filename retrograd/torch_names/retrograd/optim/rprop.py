"""``torch.optim.rprop``: re-exports only."""

from .descent import Rprop

__all__ = ["Rprop"]
