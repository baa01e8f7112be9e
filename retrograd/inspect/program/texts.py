"""The text of the program's files, also if it came from standard input or the command line.

The latter are not added to ``linecache``: Python's own tracebacks do not show their lines, and a watched program must
print what it prints unwatched.
"""

from __future__ import annotations

import linecache
from importlib.util import decode_source

_kept: dict[str, list[str]] = {}


def keep_text(file: str, source: bytes) -> None:
    """Keep the source of a program without a file, under the file name of its code."""
    try:
        _kept[file] = decode_source(source).splitlines(keepends=True)
    except (SyntaxError, UnicodeDecodeError):  # compiling it will say so
        _kept.pop(file, None)


def kept_text(file: str) -> str | None:
    """Return the text kept under a name, or None."""
    lines = _kept.get(file)
    return None if lines is None else "".join(lines)


def lines_of(file: str) -> list[str]:
    """Return the lines of a file with their ends, the same list as long as it does not change; none if unknown."""
    return _kept.get(file) or linecache.getlines(file)


def plain_lines(file: str) -> list[str]:
    """Return the lines of a file without their ends."""
    return [line.rstrip("\r\n") for line in lines_of(file)]
