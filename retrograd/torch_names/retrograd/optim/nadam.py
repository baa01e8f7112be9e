"""``torch.optim.nadam``: re-exports only."""

from .adam import NAdam

__all__ = ["NAdam"]
