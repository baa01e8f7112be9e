"""``torch.nn.modules.upsampling``: re-exports only."""

from .shaping import Upsample, UpsamplingBilinear2d, UpsamplingNearest2d

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]
