"""Words and phrases of findings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ...program.places import SourceLine, inside_words, short_place

if TYPE_CHECKING:
    from ..facts.flow import Flow

SHOWN = 4
"""Names in a list before the rest is counted."""


def place(source: SourceLine | None) -> str:
    """Return ``train.py:17``, with the package that the line called into, or words for an unknown line."""
    return short_place(source.file, source.line) + inside_words(source.inside) if source else "an unknown line"


def at(source: SourceLine | None) -> str:
    """Return `` at train.py:17``, or nothing when the line is unknown."""
    return f" at {place(source)}" if source else ""


def listed(names: Iterable[str], *, most: int = SHOWN) -> str:
    """Return ``a``, ``a and b``, ``a, b and c`` or ``a, b, c, d and 5 more``, each name once."""
    words = list(dict.fromkeys(names))
    if len(words) > most + 1:
        words = [*words[:most], f"{len(words) - most} more"]
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def parameters(names: Iterable[str]) -> str:
    """Return a list of parameters; of many in one module their number: ``6 parameters of net (net.0.bias, …)``."""
    words = list(dict.fromkeys(names))
    shared: list[str] = []
    for parts in zip(*(word.split(".")[:-1] for word in words), strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    if len(words) <= SHOWN + 1 or not shared:
        return listed(words)
    return f"{len(words)} parameters of {'.'.join(shared)} ({words[0]}, …)"


def named(flow: Flow, leaves: Iterable[int]) -> str:
    """Return the names of leaves as a list of ``parameters``."""
    return parameters(flow.name(leaf) for leaf in leaves)


def counted(count: int, noun: str) -> str:
    """Return ``1 step`` or ``3 steps``."""
    return f"{count:,} {noun}{'' if count == 1 else 'es' if noun.endswith('s') else 's'}"


def times(count: int | None) -> str:
    """Return ``never``, ``once``, ``twice`` or ``5 times``; None is never."""
    number = count or 0
    return ("never", "once", "twice")[number] if number < 3 else f"{number:,} times"


def shape_text(shape: Sequence[int]) -> str:
    """Return a shape as Python writes it: ``(12,)``."""
    return str(tuple(shape))


def function_name(qualified: object) -> str:
    """Return the name of a function where it is defined: ``inner`` for ``keep.<locals>.inner``."""
    return str(qualified or "").rpartition("<locals>.")[2]


def in_code(name: str) -> str:
    """Return a parameter's name as an expression: ``net[2].bias`` for ``net.2.bias``."""
    return re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", name)


def operator_word(op: str) -> str:
    """Return an operator as people call it: ``mul`` for ``MulBackward0``, ``add_`` and ``tanh`` as they are."""
    stem = op.rstrip("0123456789")
    return stem.removesuffix("Backward").lower() if stem.endswith("Backward") else op
