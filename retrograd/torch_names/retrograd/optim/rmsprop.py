"""``torch.optim.rmsprop``: re-exports only."""

from .adaptive import RMSprop

__all__ = ["RMSprop"]
