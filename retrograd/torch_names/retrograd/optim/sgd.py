"""``torch.optim.sgd``: re-exports only."""

from .descent import SGD

__all__ = ["SGD"]
