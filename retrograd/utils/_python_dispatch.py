"""``torch.utils._python_dispatch``-shaped face of ``retrograd.engine.overriding.dispatch_modes``."""

from ..engine.overriding.dispatch_modes import TorchDispatchMode

__all__ = ["TorchDispatchMode"]
