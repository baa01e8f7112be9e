"""Finds the first operation, in forward or backward, whose result differs between two runs of one program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import compress, repeat, zip_longest
from typing import Any

from ..graphs.columns import Plain
from ..graphs.graph_diff import statistics_differ
from ..program.places import SourceLine
from ..recording.events import Event, Recording

_RESULTS = frozenset(("operation", "inplace", "cut", "accumulate"))
_FIGURES = ("checksum", "range", "grad_norm")
"""Statistics of results: sums and ranges for calls, the norm of the gradient for leaves."""


@dataclass(frozen=True, slots=True)
class OtherResult:
    """The first place at which two runs have different results; everything before it was equal."""

    what: str
    """``"result"`` of the same call, ``"gradient"`` of the same leaf, or ``"call"`` if the runs make
    different calls."""
    op: str
    name: str
    source: SourceLine | None
    before: str
    """The result in the first run, in words."""
    after: str

    def to_plain(self) -> dict[str, Plain]:
        """Return the fields as JSON values."""
        plain = {"what": self.what, "op": self.op, "name": self.name, "before": self.before, "after": self.after}
        return {**plain, "source": self.source and self.source.plain()}


def first_other_result(before: Recording, after: Recording, tolerance: float = 0.0) -> OtherResult | None:
    """Return the first call or gradient that differs between two recordings, None if all are equal.

    Statistics may differ by ``tolerance``, relatively; lines may, too.  Recordings of level ``full`` hold calls, those
    of level ``backward`` gradients; of two that differ in level, what both hold is compared.
    """
    kinds = _noted(before) & _noted(after) if before.level != after.level else _RESULTS
    for one, other in zip_longest(_result_events(before, kinds), _result_events(after, kinds)):
        if one is None or other is None or _call(one) != _call(other):
            return _divergence(one, other)
        for key in _FIGURES:
            pair = _measured(one.data.get(key), other.data.get(key))
            if not _same(*pair, tolerance):
                return _found(before, one, key, pair)
    return None


def _noted(recording: Recording) -> frozenset[str]:
    """Return the kinds of results that a recording holds."""
    return _RESULTS.intersection(event.kind for event in recording.events)


def _result_events(recording: Recording, kinds: frozenset[str]) -> Iterator[Event]:
    """Yield the events that hold results of some kinds."""
    return (event for event in recording.events if event.kind in kinds)


def _call(event: Event) -> tuple[str, str]:
    return event.kind, event.op


def _measured(one: Any, other: Any) -> tuple[Any, Any]:
    """Return statistics of several results, without those that only one of two runs has."""
    if not (isinstance(one, list) and isinstance(other, list) and len(one) == len(other)):
        return one, other
    taken = [None not in pair for pair in zip(one, other, strict=True)]
    return list(compress(one, taken)), list(compress(other, taken))


def _same(one: Any, other: Any, tolerance: float) -> bool:
    """Whether two statistics, or lists of them, are equal; NaN equals NaN."""
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other, repeat(tolerance)))
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return not statistics_differ(one, other, tolerance)
    return bool(one == other)


def _divergence(one: Event | None, other: Event | None) -> OtherResult:
    """Describe where one run does something else than the other, or ended."""
    event = one or other
    assert event is not None
    words = [_words(side) for side in (one, other)]
    return OtherResult("call", event.op, "", event.source, *words)


def _words(event: Event | None) -> str:
    """Return a call in words."""
    if event is None:
        return "nothing more"
    what = event.op or "a gradient that arrives"
    return what if event.source is None else f"{what} at line {event.source.line}"


def _found(recording: Recording, event: Event, key: str, pair: tuple[Any, Any]) -> OtherResult:
    """Describe a call, or the gradient of a leaf, whose statistics differ."""
    words = [_figure_words(key, value) for value in pair]
    if event.kind == "accumulate":
        number, tensors = event.data.get("tensor"), recording.tensors
        name = tensors[number].name if isinstance(number, int) and 0 <= number < len(tensors) else ""
        return OtherResult("gradient", "backward", name, event.source, *words)
    names = [name for name in event.data.get("output_names") or () if name]
    return OtherResult("result", event.op, ", ".join(names), event.source, *words)


def _figure_words(key: str, value: Any) -> str:
    """Return ``sum 3.25``, ``range [0.5, 2.0]`` or ``norm 1.5``, for all of several results."""
    word = {"checksum": "sum", "grad_norm": "norm"}.get(key, key)
    listed = value if isinstance(value, (list, tuple)) else [value]
    return f"{word} {', '.join(map(repr, listed))}"
