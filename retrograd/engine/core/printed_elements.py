"""The elements of a tensor as text: brackets, lines that fit the width, one format for all elements.

Only what is shown decides about the format; a large array shows the ends of each dimension.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from typing import Any

import numpy as np

from .narrow import LOADED, single


@dataclasses.dataclass
class PrintOptions:
    """The options of ``set_printoptions``."""

    precision: int = 4
    threshold: int = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


options = PrintOptions()
PROFILES: dict[str, dict[str, Any]] = {
    "default": {}, "short": {"precision": 2, "edgeitems": 2}, "full": {"threshold": sys.maxsize},
}  # fmt: skip


def elements_text(array: Any, indent: int) -> str:
    """The elements, further lines indented below the first bracket."""
    if array.size == 0:
        return "[]" if array.shape == (0,) else f"[], size={tuple(array.shape)}"
    shortened = array.size > options.threshold
    shown = _ends(array) if shortened else array
    if array.dtype in LOADED:
        array, shown = single(array), single(shown)
    write, width = _complex_format(shown) if array.dtype.kind == "c" else _format(shown)
    return _nested(array, indent, shortened, (write, width))


def _cut(array: Any, shortened: bool) -> bool:
    return shortened and len(array) > 2 * options.edgeitems


def _ends(array: Any) -> Any:
    """The parts of an array that a shortened text shows."""
    if array.ndim and _cut(array, True):
        kept = np.r_[: options.edgeitems, len(array) - options.edgeitems : len(array)]
        array = array[kept]
    return np.stack([_ends(part) for part in array]) if array.ndim > 1 and len(array) else array


def _nested(array: Any, indent: int, shortened: bool, how: tuple[Any, int]) -> str:
    write, width = how
    if array.ndim == 0:
        return str(write(array.item()))
    edge, cut = options.edgeitems, _cut(array, shortened)
    ends = [*array[:edge], *array[len(array) - edge :]] if cut else list(array)
    if array.ndim == 1:
        texts = [write(value.item()) for value in ends]
        parts = [*texts[:edge], " ...", *texts[edge:]] if cut else texts
        per_line = max(1, (options.linewidth - indent) // (width + 2))
        lines = [", ".join(parts[i : i + per_line]) for i in range(0, len(parts), per_line)]
        return "[" + f",\n{' ' * (indent + 1)}".join(lines) + "]"
    parts = [_nested(part, indent + 1, shortened, how) for part in ends]
    parts = [*parts[:edge], "...", *parts[edge:]] if cut else parts
    return "[" + f",{chr(10) * (array.ndim - 1)}{' ' * (indent + 1)}".join(parts) + "]"


def _format(array: Any) -> tuple[Any, int]:
    """The format and width of one element."""
    if array.dtype.kind != "f":
        width = max(len(str(value)) for value in array.ravel().tolist())
        return (lambda v: str(v).rjust(width)), width
    nonzero = array[np.isfinite(array) & (array != 0)].astype(np.float64)
    if nonzero.size == 0:
        return (lambda v: f"{v:.0f}." if math.isfinite(v) else str(v)), 1
    sizes = np.abs(nonzero)
    whole = bool(np.all(nonzero == np.ceil(nonzero)))
    scientific = bool(sizes.max() / sizes.min() > 1000 or sizes.max() > 1e8 or (not whole and sizes.min() < 1e-4))
    scientific = scientific if options.sci_mode is None else options.sci_mode
    spec = f".{options.precision}e" if scientific else ".0f" if whole else f".{options.precision}f"
    end = "." if whole and not scientific else ""
    width = max(len(f"{v:{spec}}{end}") for v in nonzero.tolist())
    return (lambda v: (f"{v:{spec}}{end}" if math.isfinite(v) else str(v)).rjust(width)), width


def _complex_format(array: Any) -> tuple[Any, int]:
    (real, wide), (imag, long) = _format(array.real), _format(array.imag)

    def write(z: complex) -> str:
        second = imag(z.imag).lstrip()
        return f"{real(z.real)}{'' if second[0] in '+-' else '+'}{second}j"

    return write, wide + long + 1
