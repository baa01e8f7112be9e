"""Shapes of tensors as PyTorch shows them."""

from __future__ import annotations

from typing import Any


class Size(tuple[int, ...]):
    """A tensor's shape, printed as ``torch.Size([2, 3])``."""

    __module__ = "retrograd"
    __slots__ = ()

    def numel(self) -> int:
        """Number of elements."""
        n = 1
        for s in self:
            n *= s
        return n

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, i: Any) -> Any:
        r = tuple.__getitem__(self, i)
        return Size(r) if isinstance(i, slice) else r

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Size, (tuple(self),))
