"""``torch.nn.modules.fold``: re-exports only."""

from .shaping import Fold, Unfold

__all__ = ["Fold", "Unfold"]
