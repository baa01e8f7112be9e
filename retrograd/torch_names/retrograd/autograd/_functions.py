"""``torch.autograd._functions``: re-exports only."""

from ..engine.surface.compatibility.legacy_resize import Resize

__all__ = ["Resize"]
