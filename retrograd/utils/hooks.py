"""The face of ``torch.utils.hooks``: re-exports only."""

from ..engine.nodes.hooks import RemovableHandle, unserializable_hook

__all__ = ["RemovableHandle", "unserializable_hook"]
