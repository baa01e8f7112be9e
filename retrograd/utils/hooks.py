"""The face of ``torch.utils.hooks``: re-exports only."""

from ..engine.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
