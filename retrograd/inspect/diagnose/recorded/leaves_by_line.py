"""Questions about many leaves that one line made: a loop makes thousands, and each answer may cost a walk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from ...snapshot import SourceLine
from .flow import Flow

Answer = TypeVar("Answer")
_ASKED = 10
"""Leaves of one line that are asked about; the others get the answer of the last one of these."""


def answer_per_leaf(flow: Flow, leaves: Iterable[int], ask: Callable[[int], Answer]) -> Iterator[tuple[int, Answer]]:
    """Yield each leaf with its answer."""
    asked: Counter[SourceLine] = Counter()
    latest: dict[SourceLine, Answer] = {}
    for leaf in leaves:
        facts = flow.facts(leaf)
        if facts.source is None or facts.made_by is None:  # a parameter: where it was first used says little
            yield leaf, ask(leaf)
            continue
        if asked[facts.source] < _ASKED:
            asked[facts.source] += 1
            latest[facts.source] = ask(leaf)
        yield leaf, latest[facts.source]
