"""``torch.optim.radam``: re-exports only."""

from .adam import RAdam

__all__ = ["RAdam"]
