"""The statements in the recorded part of a program's text: the lines of events and their neighbours.

So a block may lack its body and a long call its end.  Each statement is read by itself: of those in which others
stand (``for``, ``if``, ``with`` ...) only the head, and one whose end was not kept up to where the lines end.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...program.syntax import parsed

_LONGEST = 12
"""Lines of one statement that are tried; a bracket that is closed further down belongs to data."""
_PASSED_OVER = ("#", "try:", "else:", "finally:", "except", "match ", "case ")
"""Beginnings of lines that carry no statement of their own and would be parsed together with what follows."""
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Fragment:
    """One statement, and its lines."""

    first: int
    last: int
    tree: ast.stmt


def fragments(lines: Mapping[int, str]) -> Iterator[Fragment]:
    """Yield the statements that kept lines hold, downwards; a line that is the middle of one is passed over."""
    after = 0
    for number in sorted(lines):
        if number >= after and (found := _beginning_at(lines, number)) is not None:
            yield from found
            after = found[-1].last + 1


def heads_around(lines: Mapping[int, str], number: int) -> Iterator[tuple[int, str]]:
    """Yield the heads of the blocks around a line in its function, innermost first, with their numbers.

    As far as all lines between were kept.
    """
    depth = _depth(lines.get(number, ""))
    while (text := lines.get(number)) is not None and not text.lstrip().startswith(("def ", "class ")):
        if text.strip() and _depth(text) < depth:
            depth = _depth(text)
            yield number, text
        number -= 1


def _depth(text: str) -> int:
    """Return how far a line is indented."""
    return len(text) - len(text.lstrip())


def _beginning_at(lines: Mapping[int, str], first: int) -> list[Fragment] | None:
    """Return what begins at a line: one statement or, with semicolons between them, several."""
    text = ""
    if not lines[first].strip() or lines[first].lstrip().startswith(_PASSED_OVER):
        return None
    for number in range(first, first + _LONGEST):
        if number not in lines:
            break
        text += (lines[number] if text else lines[number].lstrip()) + "\n"
        if trees := _trees(text):
            return [Fragment(first, number, tree) for tree in trees]
    trees = _trees(_closed(text))
    return [Fragment(first, first + text.count("\n") - 1, tree) for tree in trees] or None


def _trees(text: str) -> list[ast.stmt]:
    """Return the statements of a text, to which the body of a block may be missing."""
    text = text.removeprefix("el") if text.startswith("elif") else text
    module = parsed(text) or parsed(f"{text}    pass\n")
    return [] if module is None else module.body


def _closed(text: str) -> str:
    """Return a text with the brackets closed that are open at its end."""
    opened: list[str] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.string in _CLOSING and token.type == tokenize.OP:
                opened.append(_CLOSING[token.string])
            elif opened and token.type == tokenize.OP and token.string == opened[-1]:
                opened.pop()
    except (tokenize.TokenError, IndentationError):  # the end came too early, which is why we are here
        pass
    return text.rstrip("\n") + "\n" + "".join(reversed(opened)) + "\n" if opened else ""
