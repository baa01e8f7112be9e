"""``torch.utils.hooks``: re-exports only."""

from ..engine.nodes.hooks import RemovableHandle, unserializable_hook, warn_if_has_hooks

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]
