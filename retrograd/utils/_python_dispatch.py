"""``torch.utils._python_dispatch``-shaped face of ``retrograd.engine.dispatch_modes``."""

from ..engine.dispatch_modes import TorchDispatchMode

__all__ = ["TorchDispatchMode"]
