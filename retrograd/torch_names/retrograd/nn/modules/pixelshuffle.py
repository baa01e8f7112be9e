"""``torch.nn.modules.pixelshuffle``: re-exports only."""

from .shaping import PixelShuffle, PixelUnshuffle

__all__ = ["PixelShuffle", "PixelUnshuffle"]
