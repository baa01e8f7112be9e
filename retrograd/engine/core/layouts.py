"""``torch.layout``s and memory formats: there is one layout, and row-major order is the default."""

from __future__ import annotations

from typing import Any, Self


class _Named:
    """Known by its name, of which there is one object."""

    __slots__ = ("_name",)
    _name: str

    def __new__(cls, name: str) -> Self:
        made = _MADE.get((cls, name))
        if made is None:
            made = _MADE[cls, name] = super().__new__(cls)
            made._name = name
        return made

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._name,)


_MADE: dict[tuple[type, str], Any] = {}


class layout(_Named):  # noqa: N801
    """How elements are stored."""

    __module__ = "retrograd"
    __slots__ = ()


class memory_format(_Named):  # noqa: N801
    """The order of dimensions in memory."""

    __module__ = "retrograd"
    __slots__ = ()


strided = layout("torch.strided")
contiguous_format = memory_format("torch.contiguous_format")
preserve_format = memory_format("torch.preserve_format")
channels_last = memory_format("torch.channels_last")
channels_last_3d = memory_format("torch.channels_last_3d")
