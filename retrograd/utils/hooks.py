"""The face of ``torch.utils.hooks``: re-exports only."""

from ..engine.nodes.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
