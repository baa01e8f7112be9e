"""``Size``: the shape of a tensor."""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import index
from typing import Any


class Size(tuple[int, ...]):
    """A tensor's shape, printed as ``torch.Size([2, 3])``; ``TypeError`` for anything but integers in it."""

    __module__ = "retrograd"
    __slots__ = ()

    def __new__(cls, sizes: Iterable[Any] = (), /) -> Size:
        made = tuple.__new__(cls, sizes)
        for size in made:
            if size.__class__ is not int:
                return tuple.__new__(cls, map(_checked, range(len(made)), made))
        return made

    def numel(self) -> int:
        """Number of elements."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, i: Any) -> Any:
        r = tuple.__getitem__(self, i)
        return tuple.__new__(Size, r) if isinstance(i, slice) else r  # integers all of them

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, tuple):
            if hasattr(other, "__radd__") and not isinstance(other, (int, float, complex)):  # as NumPy's arrays add
                return NotImplemented
            raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Any:
        return Size(other + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: Any) -> Any:
        if hasattr(times, "__index__"):
            return tuple.__new__(Size, tuple.__mul__(self, times))
        if hasattr(times, "__rmul__") and not isinstance(times, (float, complex)):
            return NotImplemented
        raise TypeError(f"can't multiply sequence by non-int of type '{type(times).__name__}'")

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[Any, ...]:
        return (Size, (tuple(self),))


def _checked(place: int, size: Any) -> int:
    """A size as an ``int``: also truth values, and tensors and arrays of one integer."""
    try:
        return index(size)
    except TypeError:
        raise TypeError(f"torch.Size() takes an iterable of 'int' (item {place} is '{type(size).__name__}')") from None
