"""``torch.optim.adadelta``: re-exports only."""

from .adaptive import Adadelta

__all__ = ["Adadelta"]
