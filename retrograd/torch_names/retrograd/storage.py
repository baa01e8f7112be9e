"""``torch.storage``: re-exports only."""

from .engine.methods import FUNCTIONS

Storage, TypedStorage, UntypedStorage = (FUNCTIONS[name] for name in ("Storage", "TypedStorage", "UntypedStorage"))

__all__ = ["Storage", "TypedStorage", "UntypedStorage"]
