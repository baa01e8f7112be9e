"""``torch.layout``s and memory formats: there is one layout, and row-major order is the default."""

from __future__ import annotations


class layout(str):  # noqa: N801
    """How elements are stored."""

    __module__ = "retrograd"
    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class memory_format(str):  # noqa: N801
    """The order of dimensions in memory."""

    __module__ = "retrograd"
    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


strided = layout("torch.strided")
contiguous_format = memory_format("torch.contiguous_format")
preserve_format = memory_format("torch.preserve_format")
channels_last = memory_format("torch.channels_last")
channels_last_3d = memory_format("torch.channels_last_3d")
