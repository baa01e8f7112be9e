"""``torch.signal``: re-exports only."""

from . import windows

__all__ = ["windows"]
