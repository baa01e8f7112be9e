"""Questions about the calls and leaves of one line: a loop makes thousands of them, and each answer may cost a walk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from ...program.places import SourceLine
from ...recording.events import Event
from ..thresholds import ASKED_OF_A_LINE
from .flow import Flow

Answer = TypeVar("Answer")


def answer_per_leaf(flow: Flow, leaves: Iterable[int], ask: Callable[[int], Answer]) -> Iterator[tuple[int, Answer]]:
    """Yield each leaf with its answer."""
    asked: Counter[SourceLine] = Counter()
    latest: dict[SourceLine, Answer] = {}
    for leaf in leaves:
        facts = flow.facts(leaf)
        if facts.source is None or facts.made_by is None:  # a parameter: where it was first used says little
            yield leaf, ask(leaf)
            continue
        if asked[facts.source] < ASKED_OF_A_LINE:
            asked[facts.source] += 1
            latest[facts.source] = ask(leaf)
        yield leaf, latest[facts.source]


_ENDS = 4


def few_of_each_line(flow: Flow, rows: Iterable[int], ends: int = _ENDS) -> list[int]:
    """Return the first and the last calls of each operator from each line, reached by the same calls of functions.

    Those between, of a long loop, are like them.  ``ends``: how many at either end.
    """
    alike: dict[tuple[str, tuple[SourceLine, ...]], list[int]] = {}
    for row in sorted(rows):
        alike.setdefault((flow.events[row].op, tuple(flow.lines(row))), []).append(row)
    return sorted({row for found in alike.values() for row in (*found[:ends], *found[-ends:])})


def calls_between(flow: Flow, begin: int, end: int) -> list[Event]:
    """Return the calls between two rows whose lines are known."""
    return [event for event in flow.events[begin:end] if event.kind in ("operation", "cut", "inplace") and event.source]


def same_call(one: Event, other: Event) -> bool:
    """Whether two calls are of one operator and one line."""
    return (one.op, one.source) == (other.op, other.source)


def same_shapes(flow: Flow, one: Event, other: Event) -> bool:
    """Whether two calls had results of the same shapes."""
    return result_shapes(flow, one) == result_shapes(flow, other)


def result_shapes(flow: Flow, event: Event) -> list[tuple[int, ...]]:
    """Return the shapes of a call's results."""
    return [flow.facts(tensor).shape for tensor in event.data.get("outputs", ())]


def call_text(event: Event) -> str:
    """Return a call in short, with the name of its first result that has one: ``y = dropout(...)``."""
    name = next(filter(None, event.data.get("output_names") or ()), "")
    return f"{name} = {event.op}(...)" if name else f"{event.op}(...)"


def made_inside(flow: Flow, row: int, function: Event, part: str) -> bool:
    """Whether a call is made by the forward, or the backward, of a custom Function."""
    file, first, name = function.data.get(f"{part}_line") or ("", 0, "")
    last = function.data.get(f"{part}_end", 0)
    return any((one.file, one.function) == (file, name) and first <= one.line <= last for one in flow.lines(row))


def backward_line(event: Event) -> SourceLine | None:
    """Return the line at which the backward of a Function returns, or its definition."""
    defined = event.data.get("backward_line") or []
    if len(defined) != 3:
        return event.source
    return SourceLine(defined[0], event.data.get("return_line") or defined[1], defined[2])
