"""``torch.utils``-shaped face: checkpointing, hook handles and nested containers."""

from . import _python_dispatch, _pytree, checkpoint, hooks

__all__ = ["_python_dispatch", "_pytree", "checkpoint", "hooks"]
