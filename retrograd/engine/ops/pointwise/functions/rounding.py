"""``round`` to whole numbers or decimals."""

from __future__ import annotations

from typing import Any

from ....aliasing.inplace import call_inplace
from ....table.public import check_tensor, public
from ....table.registry import OPS


def _round_call(input: Any, decimals: int | None) -> tuple[Any, tuple[Any, ...]]:  # noqa: A002
    return (OPS["_round"], (input,)) if decimals is None else (OPS["_round_decimals"], (input, decimals))


def round(input: Any, *, decimals: int | None = None) -> Any:  # noqa: A001, A002
    """Nearest integer (halves to even), or nearest multiple of ``10 ** -decimals``."""
    check_tensor("round", input)
    row, args = _round_call(input, decimals)
    return row(*args)


def round_(self: Any, *, decimals: int | None = None) -> Any:
    """In-place rounding."""
    row, args = _round_call(self, decimals)
    return call_inplace(row, args, {})


def _special_round(input: Any, *, decimals: int = 0) -> Any:  # noqa: A002
    """Nearest multiple of ``10 ** -decimals``."""
    return round(input, decimals=decimals)


public("round", out=True)(round)
public("round", out=True, namespace="special")(_special_round)
public("round_")(round_)
