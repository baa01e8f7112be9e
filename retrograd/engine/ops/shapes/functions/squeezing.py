"""``squeeze``: without dimensions of size one."""

from __future__ import annotations

from typing import Any

from ....table.public import check_tensor, public
from ....table.registry import OPS


@public("squeeze")
def squeeze(input: Any, *dim: Any) -> Any:  # noqa: A002
    """Without dimensions of size one (all of them, or those given)."""
    check_tensor("squeeze", input)
    return OPS[squeeze_row(dim)](input, *squeeze_arguments(dim))


def squeeze_row(dim: tuple[Any, ...]) -> str:
    """Torch has three squeezes: of all dimensions, of one, of several."""
    if not dim:
        return "_squeeze"
    return "_squeeze_dim" if len(dim) == 1 and isinstance(dim[0], int) else "_squeeze_dims"


def squeeze_arguments(dim: tuple[Any, ...]) -> tuple[Any, ...]:
    """The argument of that row: several dimensions are given one by one or as one list."""
    return dim if len(dim) < 2 else (dim,)
