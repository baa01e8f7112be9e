"""Estimated width of drawn text, without a font; rather too large than too small.

The widths are those of DejaVu Sans in hundredths of the font size.  It is the widest of the common sans-serif
fonts and the one that a bare Linux machine has, so boxes sized by it hold the text everywhere.
"""

from __future__ import annotations

import functools
import unicodedata

_REGULAR = (
    "32 40 46 84 64 95 78 27 39 39 50 84 32 36 32 34 64 64 64 64 64 64 64 64 64 64 34 34 84 84 84 53 100 68 69 70 77 "
    "63 58 77 75 29 29 66 56 86 75 79 60 79 69 63 61 73 68 99 69 61 69 39 34 39 84 50 50 61 63 55 63 62 35 63 63 28 "
    "28 58 28 97 63 61 63 63 41 52 39 63 59 82 59 59 52 64 34 64 84"
)
_BOLD = (
    "35 46 52 84 70 100 87 31 46 46 52 84 38 42 38 37 70 70 70 70 70 70 70 70 70 70 40 40 84 84 84 58 100 77 76 73 83 "
    "68 68 82 84 37 37 77 64 100 84 85 73 85 77 72 68 81 77 110 77 72 73 46 37 46 84 50 50 67 72 59 72 68 44 72 71 34 "
    "34 67 34 104 71 69 72 72 49 60 48 71 65 92 65 65 58 71 37 71 84"
)
_TABLES = tuple(dict(zip(range(32, 127), map(int, table.split()), strict=True)) for table in (_REGULAR, _BOLD))
_ELLIPSIS = "…"


@functools.lru_cache(maxsize=4096)
def _other_width(char: str) -> int:
    """Return the width of a character outside ASCII: nothing for combining marks, a full square for CJK."""
    if unicodedata.combining(char):
        return 0
    if unicodedata.east_asian_width(char) in "WF":
        return 104
    return 84


@functools.lru_cache(maxsize=16384)
def text_width(text: str, size: float, bold: bool = False) -> float:
    """Return the estimated width of one line of text at a font size, in pixels."""
    table = _TABLES[bold]
    hundredths = sum(table.get(ord(char)) or _other_width(char) for char in text)
    return hundredths * size / 100


def wrapped(text: str, size: float, room: float, most: int) -> list[str]:
    """Return ``text`` as up to ``most`` lines that fit into ``room`` pixels; the last one is shortened if need be."""
    lines: list[str] = []
    rest = text.split(" ")
    while rest and len(lines) < most - 1:
        count = 1
        while count < len(rest) and text_width(" ".join(rest[: count + 1]), size) <= room:
            count += 1
        lines.append(shortened(" ".join(rest[:count]), size, room))
        rest = rest[count:]
    return [*lines, shortened(" ".join(rest), size, room)] if rest else lines


def shortened(text: str, size: float, room: float, bold: bool = False) -> str:
    """Return ``text``, its middle replaced by an ellipsis if it is wider than ``room`` pixels."""
    if text_width(text, size, bold) <= room:
        return text
    # Names differ at their ends (module path at the front, parameter at the back), so the middle is left out.
    low, high = 0, min(len(text), int(room / (size * 0.2)))
    while low < high:
        keep = (low + high + 1) // 2
        if text_width(_without_middle(text, keep), size, bold) <= room:
            low = keep
        else:
            high = keep - 1
    return _without_middle(text, low)


def _without_middle(text: str, keep: int) -> str:
    """Return the first and last characters of ``text``, ``keep`` in all, around an ellipsis."""
    head = keep // 3
    return text[:head] + _ELLIPSIS + text[len(text) - (keep - head) :]
