"""``torch.optim.adagrad``: re-exports only."""

from .adaptive import Adagrad

__all__ = ["Adagrad"]
