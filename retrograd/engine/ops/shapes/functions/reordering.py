"""Elements in another order along dimensions: flips and rolls."""

from __future__ import annotations

from typing import Any

from ....table.public import check_tensor, public
from ....table.registry import F
from .sizes import ints_of


@public("flip")
def flip(input: Any, *dims: Any) -> Any:  # noqa: A002
    """Elements in reverse order along ``dims``."""
    check_tensor("flip", input)
    return F.flip(input, ints_of(dims))


@public("fliplr")
def fliplr(input: Any) -> Any:  # noqa: A002
    """Columns in reverse order."""
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return F.flip(input, (1,))


@public("flipud")
def flipud(input: Any) -> Any:  # noqa: A002
    """Rows in reverse order."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return F.flip(input, (0,))


@public("roll")
def roll(input: Any, shifts: Any, dims: Any = None) -> Any:  # noqa: A002
    """Elements shifted along ``dims`` (or in flat order), with wrap-around."""
    check_tensor("roll", input)
    shifts = ints_of((shifts,))
    axes = () if dims is None else ints_of((dims,))
    if not shifts:
        raise RuntimeError("`shifts` required")
    if len(axes) != len(shifts) and (axes or len(shifts) != 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(axes)}")
    if axes and not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return F.roll(input, shifts, axes)
