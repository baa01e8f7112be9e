"""Padding layers: constant, reflected, repeated and circular edges in one to three dimensions."""

from __future__ import annotations

from typing import Any, ClassVar

from .. import functional
from ..module import Module
from .declared import window


class _Pad(Module):
    """``padding`` is one size for all sides, or sizes from the last dimension's left side on."""

    mode: ClassVar[str] = "constant"
    dimensions: ClassVar[int] = 1
    value: float | None = None

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = window(padding, 2 * self.dimensions)

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Apply the layer."""
        return functional.pad(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.padding}"


class _Constant(_Pad):
    """One value around."""

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        """The sizes and the value."""
        return f"padding={self.padding}, value={self.value}"


class _Zero(_Pad):
    """Zeros around."""

    value = 0.0


class _Reflection(_Pad):
    """The inner values, mirrored."""

    mode = "reflect"


class _Replication(_Pad):
    """The outermost values, repeated."""

    mode = "replicate"


class _Circular(_Pad):
    """The values of the other end."""

    mode = "circular"

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Apply the layer."""
        few = self.dimensions + 1
        if input.ndim not in (few, few + 1):
            raise ValueError(f"expected {few}D or {few + 1}D input (got {input.ndim}D input)")
        return super().forward(input)


def _named(family: type[_Pad], dimensions: int) -> type[_Pad]:
    name = f"{family.__name__[1:]}Pad{dimensions}d"
    return type(name, (family,), {"__module__": __name__, "__doc__": family.__doc__, "dimensions": dimensions})


ConstantPad1d, ConstantPad2d, ConstantPad3d = (_named(_Constant, n) for n in (1, 2, 3))
ZeroPad1d, ZeroPad2d, ZeroPad3d = (_named(_Zero, n) for n in (1, 2, 3))
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = (_named(_Reflection, n) for n in (1, 2, 3))
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = (_named(_Replication, n) for n in (1, 2, 3))
CircularPad1d, CircularPad2d, CircularPad3d = (_named(_Circular, n) for n in (1, 2, 3))
