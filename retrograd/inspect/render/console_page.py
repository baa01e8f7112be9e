"""Text formatted by rich, for terminals (in colour) and plain files."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING, Any

from ...errors import OutputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

FILE_WIDTH = 200
"""Columns of text that goes to no terminal."""
LEAST_WIDTH = 20
"""Columns below which nothing could be read."""
_GUIDE = 4
"""Columns of the line that leads to a branch of a tree."""
_PLAIN_SIGNS = str.maketrans("…·×→↓–—µ●•⚠█▉▊▋▌▍▎▏", "~-x>v--u**!########")
"""Our own signs and their substitutes on a terminal without them, equally wide, so that columns stay aligned."""


def print_page(parts: Iterable[Any], file: IO[str] | None = None, *, width: int | None = None) -> None:
    """Print what rich can lay out to ``file`` (standard output): in colour and fitted to its width on a terminal.

    ``NO_COLOR`` and ``FORCE_COLOR`` are respected; symbols that the encoding of ``file`` lacks become ASCII ones, other
    characters escapes.
    Raises ``OutputError`` if writing to ``file`` fails; a closed pipe is a ``BrokenPipeError``.  A process
    without standard output prints nothing, as with ``print``.
    """
    from rich.console import Console

    out = file or sys.stdout
    if out is None:
        return
    terminal = Console(file=out, force_jupyter=False)
    width = width or (terminal.width if terminal.is_terminal else FILE_WIDTH)
    text = page_text(parts, width=width, like=terminal)
    try:
        out.write(_sayable(text, terminal.encoding))
        out.flush()
    except BrokenPipeError:
        raise  # the reader has seen enough, as in `retrograd render run.json | head`
    except OSError as error:
        raise OutputError(f"Could not print the text: {error.strerror}.", "Write it to a file with -o.") from error


def _sayable(text: str, encoding: str) -> str:
    """Return text without characters that an encoding lacks."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_PLAIN_SIGNS)
    return text.encode(encoding, "backslashreplace").decode(encoding)


def page_text(parts: Iterable[Any], *, width: int = FILE_WIDTH, like: Console | None = None) -> str:
    """Return the parts as text, with the colours that the console ``like`` would use, or without any.

    Lines end where their words end.  What is too long for a line continues in the next one; where branches of a tree
    begin so far to the right that nothing fits beside them, lines are longer than ``width``.
    """
    from rich.console import Console

    page = _Page(like.encoding if like else "utf-8")
    console = Console(
        file=page,
        color_system=like.color_system if like else None,  # type: ignore[arg-type]  # a name out of rich itself
        force_terminal=like.is_terminal if like else False,
        no_color=like.no_color if like else True,
        force_jupyter=False,
        legacy_windows=False,
    )
    for part in parts:
        console.width = max(width, LEAST_WIDTH + _indentation(part))
        console.print(part)
    return "".join(f"{line.rstrip()}\n" for line in page.getvalue().splitlines())


def _indentation(part: Any) -> int:
    """Return how far to the right the deepest branch of a tree begins; 0 for anything else."""
    from rich.tree import Tree

    levels, row = -1, [part] if isinstance(part, Tree) else []
    while row:
        levels, row = levels + 1, [child for tree in row for child in tree.children]
    return _GUIDE * max(levels, 0)


def literal(words: str, style: str = "") -> Text:
    """Return one line of text in which rich interprets no markup."""
    from rich.text import Text

    return Text(words, style=style, overflow="fold")


class _Page(io.StringIO):
    """Text in memory with the encoding of its destination, so that rich picks box characters that fit."""

    encoding: str = "utf-8"

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self.encoding = encoding
