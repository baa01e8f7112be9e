"""The text of the program's files, also of one that came from standard input or the command line.

``linecache`` is not told of those: python's own tracebacks do not show their lines, and a watched program must print
what it prints without us.
"""

from __future__ import annotations

import linecache
from importlib.util import decode_source

_kept: dict[str, list[str]] = {}


def keep_text(file: str, source: bytes) -> None:
    """Keep the source of a program that no file holds, under the name that its code goes by."""
    try:
        _kept[file] = decode_source(source).splitlines(keepends=True)
    except (SyntaxError, UnicodeDecodeError):  # compiling it will say so
        _kept.pop(file, None)


def kept_text(file: str) -> str | None:
    """Return the text that was kept under a name, None where there is none."""
    lines = _kept.get(file)
    return None if lines is None else "".join(lines)


def lines_of(file: str) -> list[str]:
    """Return the lines of a file with their ends, the same list as long as it does not change; none if unknown."""
    return _kept.get(file) or linecache.getlines(file)


def plain_lines(file: str) -> list[str]:
    """Return the lines of a file without their ends."""
    return [line.rstrip("\r\n") for line in lines_of(file)]
