"""``torch.nn.modules.channelshuffle``: re-exports only."""

from .shaping import ChannelShuffle

__all__ = ["ChannelShuffle"]
