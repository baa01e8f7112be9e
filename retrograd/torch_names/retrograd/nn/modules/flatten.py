"""``torch.nn.modules.flatten``: re-exports only."""

from .shaping import Flatten, Unflatten

__all__ = ["Flatten", "Unflatten"]
