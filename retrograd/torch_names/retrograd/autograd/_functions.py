"""``torch.autograd._functions``: re-exports only."""

from ..engine.aliasing.legacy_resize import Resize

__all__ = ["Resize"]
