"""``torch.autograd._functions``: re-exports only."""

from ..engine.surface.compatibility.old_names import Resize

__all__ = ["Resize"]
