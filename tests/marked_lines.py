"""Lines of programs, found by the comment that they end in or by words of theirs."""

from __future__ import annotations

import linecache

from retrograd.inspect import Graph


def marks_of(snapshot: Graph) -> dict[str, str]:
    """Operator name -> the text after the last `#` of the source line recorded for it."""
    return {
        op: linecache.getline(source.file, source.line).rpartition("#")[2].strip()
        for op, source in zip(snapshot.op, snapshot.source, strict=True)
        if source is not None
    }


def line_of(words: str, program: str) -> int:
    """The number of the one line of a program that holds these words."""
    (found,) = (number for number, line in enumerate(program.splitlines(), 1) if words in line)
    return found
