"""``torch.distributions.multinomial``: re-exports only."""

from .categorical import Multinomial

__all__ = ["Multinomial"]
