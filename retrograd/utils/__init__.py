"""``torch.utils``-shaped face: checkpointing, hook handles and nested containers."""

from . import _pytree, checkpoint, hooks

__all__ = ["_pytree", "checkpoint", "hooks"]
