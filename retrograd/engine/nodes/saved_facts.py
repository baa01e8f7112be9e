"""Facts that a node can save instead of an operand, such as its sizes; rules name them ``<operand>_<kind>``."""

from __future__ import annotations

from typing import Any

KINDS = {
    "_sizes": "{}._sig.shape",
    "_options": "{}._sig",
    "_by_columns": "{}._array.flags.fnc",
}
"""Ending of the name -> how it is read off a tensor: its shape, its shape and dtype, or whether it is a matrix that is
laid out by columns (and not also by rows)."""


def parts(name: str) -> tuple[str, str]:
    """The operand and the kind in a name; the kind is empty for any other name."""
    for kind in KINDS:
        if name.endswith(kind):
            return name.removesuffix(kind), kind
    return name, ""


def read(kind: str, t: Any) -> Any:
    """The value of this kind for one operand; of a Python number or ``None`` only the shape is known."""
    if kind == "_sizes":
        return t._sig.shape if hasattr(t, "_sig") else ()
    return t._sig if kind == "_options" else hasattr(t, "_array") and t._array.flags.fnc
