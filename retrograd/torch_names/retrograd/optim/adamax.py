"""``torch.optim.adamax``: re-exports only."""

from .adam import Adamax

__all__ = ["Adamax"]
