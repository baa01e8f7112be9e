"""``torch.utils``-shaped face: checkpointing and nested containers."""

from . import _pytree, checkpoint

__all__ = ["_pytree", "checkpoint"]
