"""Formats a source line for people: ``train.py:12``, or in a notebook ``Cell In[4], line 2``."""

from __future__ import annotations

import functools
import os
import re
import sys
from typing import Any, NamedTuple

_SLASH = re.compile(r"[/\\]")


class SourceLine(NamedTuple):
    """The user's line that made a node: file name as the program spells it, line number from 1, function name."""

    file: str
    line: int
    function: str
    inside: str = ""
    """``peft (layer.py:1102)`` if the line called into a package, whose line made the node."""

    def plain(self) -> list[Any]:
        """Return the line as JSON values."""
        return list(self) if self.inside else list(self[:3])


def short_place(file: str, line: int) -> str:
    """Return ``train.py:12``, the file without its folder."""
    return cell_place(file, line) or f"{_last_part(file)}:{line}"


def full_place(file: str, line: int) -> str:
    """Return ``/home/ada/train.py:12``."""
    return cell_place(file, line) or f"{file}:{line}"


def inside_words(inside: str) -> str:
    """Return `` inside peft (layer.py:1102)`` for a line that called into a package, else ``""``."""
    return f" inside {inside}" if inside else ""


def path_below(file: str) -> str:
    """Return a file's path relative to the current folder, ``""`` if it is not inside."""
    try:
        path = os.path.relpath(file)
    except OSError:  # the program removed the folder that it worked in
        return ""
    return "" if path.startswith(os.pardir) else path


def path_from_root(file: str) -> str:
    """Return a file's absolute path, if it is known."""
    try:
        return os.path.abspath(file)
    except OSError:
        return file


def cell_place(file: str, line: int) -> str:
    """Return ``Cell In[4], line 2``, as IPython's tracebacks have it, or ``""`` for a line of a real file."""
    cell = cell_name(file)
    return f"{cell}, line {line}" if cell else ""


def cell_name(file: str) -> str:
    """Return ``Cell In[4]`` for the file that IPython uses for this cell, or ``""``.

    IPython is asked each time: a cell that runs again gets a new number and keeps its file.
    """
    ipython = sys.modules.get("IPython")
    if ipython is None:
        return ""
    try:
        named = ipython.get_ipython().compile.format_code_name(file)
        return f"{named[0]} {named[1]}" if named else ""
    except Exception:  # no shell is running, IPython is older than these names, or is being imported right now
        return ""


@functools.lru_cache(maxsize=4096)
def _last_part(file: str) -> str:
    return _SLASH.split(file)[-1] or file
