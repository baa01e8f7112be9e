"""Graphs as plain JSON values and back: columns with many repeats are packed, non-finite numbers flagged.

A packed column is ``{"values": [distinct entries], "rows": [index into values, one per node]}``.  NaN and
infinities are not JSON: they are written as null and listed under ``"nonfinite"`` as ``[row, "nan"]``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from ..program.places import SourceLine
from ..progress import tick
from .graph import EDGE_COLUMNS, NODE_COLUMNS, Cut, Graph

Plain = Any
"""A JSON value: None, bool, int, finite float, str, list, dict with string keys."""

LARGEST = 10**300
"""Upper bound for integers: JSON has none, but floats cannot hold larger ones."""
_PACK_FROM = 64
"""Shorter columns stay plain lists, which are easier to read."""
_INTEGERS = ("saved_bytes", "seq", *EDGE_COLUMNS, "roots")
_OPTIONAL = ("name", "shape", "dtype", "source", "saved_bytes", "seq")


def snapshot_to_plain(snapshot: Graph) -> dict[str, Plain]:
    """Return a snapshot as JSON values; ``snapshot_from_plain`` gives an equal snapshot back."""
    plain: dict[str, Plain] = {"engine": snapshot.engine, "label": snapshot.label, "nodes": len(snapshot)}
    for column in NODE_COLUMNS:
        tick()
        values = getattr(snapshot, column)
        plain[column] = list(values) if column in _INTEGERS else _pack(values)
    plain["source"] = _pack(_plain_lines(snapshot.source))
    for column in EDGE_COLUMNS:
        plain[column] = list(getattr(snapshot, column))
    plain["roots"] = list(snapshot.roots)
    plain["root_names"] = list(snapshot.root_names)
    plain["first_seq"] = snapshot.first_seq
    plain["classes"] = dict(snapshot.classes)
    plain["cuts"] = [cut.plain() for cut in snapshot.cuts]
    plain["measures"], plain["nonfinite"] = {}, {}
    for name, measured in snapshot.measures.items():
        plain["measures"][name], plain["nonfinite"][name] = _flag_nonfinite(measured)
    return plain


def snapshot_from_plain(plain: Plain) -> Graph:
    """Return the snapshot that ``snapshot_to_plain`` described.

    Raises ``ValueError``, ``TypeError`` or ``KeyError`` when the values do not make a snapshot.
    """
    count = len_checked(plain["nodes"])
    snapshot = Graph(engine=text_checked(plain["engine"]), label=text_checked(plain["label"]))
    for column in NODE_COLUMNS:
        known = plain.get(column, [""] * count) if column == "call" else plain[column]  # older files have none
        setattr(snapshot, column, _node_column(column, known, count))
    edge_count = len(entries_checked(plain["edge_source"]))
    for column in EDGE_COLUMNS:
        bound = count if column in ("edge_source", "edge_target") else None
        setattr(snapshot, column, _numbers(column, plain[column], edge_count, bound))
    snapshot.roots = _numbers("roots", plain["roots"], len(plain["roots"]), count)
    names = entries_checked(plain["root_names"])
    snapshot.root_names = [None if name is None else text_checked(name) for name in names]
    snapshot.first_seq = _whole_checked(plain.get("first_seq", 0))
    classes = plain.get("classes", {}).items()
    snapshot.classes = {text_checked(path): text_checked(name) for path, name in classes}
    snapshot.cuts = [_cut(cut, count) for cut in plain.get("cuts", [])]
    for name, measured in plain["measures"].items():
        snapshot.measures[name] = _measure(name, measured, plain["nonfinite"].get(name, []), count)
    return snapshot


def _cut(plain: Plain, count: int) -> Cut:
    """Return one checked cut."""
    node, word, source, origin = entries_checked(plain)
    _numbers("cuts", [node, max(_whole_checked(origin), 0)], 2, count)
    return Cut(node, text_checked(word), source_from_plain(source), max(origin, -1))


def _pack(values: Sequence[Any]) -> Plain:
    """Return a column as a list, or packed when that is shorter; tuples become lists in JSON by themselves."""
    if len(values) < _PACK_FROM:
        return list(values)
    distinct = dict.fromkeys(values)
    if 2 * len(distinct) > len(values):
        return list(values)
    numbers = {value: number for number, value in enumerate(distinct)}
    return {"values": list(distinct), "rows": [numbers[value] for value in values]}


def _node_column(column: str, plain: Plain, count: int) -> list[Any]:
    """Return one checked node column."""
    if column in _INTEGERS:
        return _numbers(column, plain, count, None)
    packed = isinstance(plain, dict)
    make = _MAKERS.get(column, text_checked)
    optional = column in _OPTIONAL
    entries = entries_checked(plain["values"] if packed else plain)
    values = [None if optional and entry is None else make(entry) for entry in entries]
    if packed:
        values = [values[row] for row in _numbers(column, plain["rows"], count, len(values))]
    return _long_as(values, column, count)


def _numbers(column: str, plain: Plain, count: int, bound: int | None) -> list[Any]:
    """Return a checked column of integers below ``bound``, if given; None only where allowed."""
    allowed = {int, type(None)} if column in _OPTIONAL and bound is None else {int}
    if not set(map(type, entries_checked(plain))) <= allowed:
        raise TypeError(f"column {column!r} holds something that is not an integer")
    if not all_fit(plain):
        raise ValueError(f"column {column!r} holds a number that is too large")
    if bound is not None and plain and not 0 <= min(plain) <= max(plain) < bound:
        raise ValueError(f"column {column!r} points outside the {bound} entries it refers to")
    return _long_as(list(plain), column, count)


def _measure(name: str, plain: Plain, flags: Plain, count: int) -> list[float | None]:
    """Return one measure with its NaN and infinities restored."""
    if not set(map(type, entries_checked(plain))) <= {int, float, type(None)}:
        raise TypeError(f"measure {name!r} holds something that is not a number")
    if not all_fit(plain):
        raise ValueError(f"measure {name!r} holds a number that is too large")
    values: list[float | None] = _long_as(list(plain), name, count)
    for row, word in flags:
        values[row] = _NONFINITE[word]
    return values


def _long_as(values: list[Any], column: str, count: int) -> list[Any]:
    """Return ``values`` if it has ``count`` entries."""
    if len(values) != count:
        raise ValueError(f"column {column!r} has {len(values)} entries instead of {count}")
    return values


def _flag_nonfinite(values: Sequence[float | None]) -> tuple[list[float | None], list[list[Plain]]]:
    """Return a measure with null for NaN and infinities, and the list of these."""
    finite: list[float | None] = list(values)
    flags: list[list[Plain]] = []
    if math.isfinite(sum(filter(None, values))):  # as is every one of them then
        return finite, flags
    for row, value in enumerate(values):
        if value is not None and not math.isfinite(value):
            finite[row] = None
            flags.append([row, nonfinite_word(value)])
    return finite, flags


_NONFINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def nonfinite_word(value: float) -> str:
    """Return ``"nan"``, ``"inf"`` or ``"-inf"``."""
    if math.isnan(value):
        return "nan"
    return "inf" if value > 0 else "-inf"


def nonfinite_value(word: str) -> float:
    """Return the number that ``nonfinite_word`` named."""
    return _NONFINITE[word]


def all_fit(numbers: list[Any]) -> bool:
    """Whether all integers are at most ``LARGEST``."""
    return all(-LARGEST <= number <= LARGEST for number in numbers if type(number) is int)


def text_checked(value: Plain) -> str:
    """Return ``value`` if it is a string."""
    if type(value) is not str:
        raise TypeError(f"{_kind(value)} where a string belongs")
    return value


def len_checked(value: Plain) -> int:
    """Return ``value`` if it can be a number of entries."""
    if type(value) is not int or not 0 <= value <= LARGEST:
        raise TypeError(f"{_kind(value)} where a count belongs")
    return value


def _whole_checked(value: Plain) -> int:
    """Return ``value`` if it is an integer; nodes from before the recording have negative numbers."""
    if type(value) is not int or not all_fit([value]):
        raise TypeError(f"{_kind(value)} where a whole number belongs")
    return value


def _plain_lines(lines: list[SourceLine | None]) -> list[tuple[Any, ...] | None]:
    """Return lines as JSON values."""
    return [None if line is None else tuple(line.plain()) for line in lines]


def source_from_plain(value: Plain) -> SourceLine | None:
    """Return the line that was written as ``[file, line, function]``, perhaps with ``inside``, or null."""
    if value is None:
        return None
    file, line, function, *inside = entries_checked(value)
    if len(inside) > 1:
        raise ValueError(f"a line of {3 + len(inside)} parts")
    return _shared_line(text_checked(file), len_checked(line), text_checked(function), *map(text_checked, inside))


@lru_cache(maxsize=4096)
def _shared_line(file: str, line: int, function: str, inside: str = "") -> SourceLine:
    """Return one shared object for each line, since a million events may have the same."""
    return SourceLine(file, line, function, inside)


def entries_checked(value: Plain) -> list[Plain]:
    """Return ``value`` if it is a list."""
    if type(value) is not list:
        raise TypeError(f"{_kind(value)} where a list belongs")
    return value


def _shape(value: Plain) -> tuple[int, ...]:
    """Return a shape that was written as a list."""
    return tuple(map(len_checked, entries_checked(value)))


def _kind(value: Plain) -> str:
    """Name the JSON kind of a value, for an error message."""
    return {dict: "an object", list: "a list", str: "a string", type(None): "null"}.get(type(value), repr(value)[:40])


_MAKERS: dict[str, Callable[[Plain], Any]] = {"shape": _shape, "source": source_from_plain}
