"""``torch.optim.adamw``: re-exports only."""

from .adam import AdamW

__all__ = ["AdamW"]
