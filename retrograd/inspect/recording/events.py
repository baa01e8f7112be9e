"""``Recording``: the graphs and the stream of events of one run, independent of any engine.

Events are listed in the order in which they happened. The diagnosis finds causes in them: which line detached a tensor,
wrote in place, freed a graph, or never ran.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

from ..graphs.columns import (
    Plain,
    entries_checked,
    len_checked,
    nonfinite_value,
    nonfinite_word,
    snapshot_from_plain,
    snapshot_to_plain,
    source_from_plain,
    text_checked,
)
from ..graphs.graph import Graph
from ..operators import canonical
from ..program.places import SourceLine
from ..verbs import Verbs
from .event_data import LEVELS, NAMES_KEYS, TENSOR_KEYS, TENSORS_KEYS
from .event_types import data_checked
from .shared_parts import sharing_keys
from .tensor_facts import TensorFacts

SCHEMA = 1
"""Schema number of saved recordings; raised whenever an older reader would misread a file."""

OPERATIONS = frozenset({"operation", "inplace", "cut"})
"""Kinds of events that are calls of operators."""

Facts = tuple[Any, ...]
"""Facts about one thing; only numbers, strings and tuples, so that Python's garbage collector does not track them."""


@dataclass(slots=True)
class Event:
    """One thing that happened in a program, such as a call, a write in place or a step of an optimizer.

    ``kind`` says what happened, ``op`` is the canonical name of the operator (``"sub"``), ``source`` is the user's
    line, and ``data`` holds the details: ``event_data`` lists the kinds and the keys of each.
    """

    kind: str
    op: str = ""
    source: SourceLine | None = None
    """The user's line at which it happened."""
    data: dict[str, Any] = field(default_factory=dict)
    """JSON values; a saved recording gives tuples back as lists and foreign objects as ``"<type name>"``."""
    _facts: Facts = field(default=(), init=False, repr=False, compare=False)
    """The arguments of ``_describe``, which computes ``data`` on first read."""
    _describe: Callable[[Facts], dict[str, Any]] | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def written(self) -> str:
        """The operator's name as the program spells it: ``subtract_`` where ``op`` is ``sub``."""
        return str(self.data.get("written", self.op))

    @classmethod
    def later(
        cls, kind: str, op: str, source: SourceLine | None, describe: Callable[[Facts], dict[str, Any]], facts: Facts
    ) -> Event:
        """Return an event whose data is ``describe(facts)``, computed on first read; most data is never read."""
        event = cls.__new__(cls)
        event.kind, event.op, event.source, event._describe, event._facts = kind, op, source, describe, facts
        return event

    def __getattr__(self, name: str) -> Any:  # asked only for what is not there
        if name == "data":
            facts, describe = self._facts, self._describe  # in this order: another thread may make the data meanwhile
            if describe is not None:
                self.data = sharing_keys(describe(facts))
                self._describe, self._facts = None, ()
        return object.__getattribute__(self, name)

    @property
    def noted(self) -> Facts:
        """The facts from which ``data`` will be computed; empty once it has been."""
        return () if self._describe is None else self._facts

    def data_once(self) -> dict[str, Any]:
        """Return the data without storing it: if it has not been read yet, it is computed for this call only."""
        facts, describe = self._facts, self._describe  # in this order, as above
        return self.data if describe is None else describe(facts)

    def parts(self) -> dict[str, Any]:
        """Return the non-empty fields of the event as a dictionary, mostly of JSON values."""
        parts: dict[str, Any] = {"kind": self.kind}
        if self.op:
            parts["op"] = self.op
        if self.source is not None:
            parts["source"] = self.source.plain()
        data = self.data_once()
        if data:
            parts["data"] = data
        return parts

    def to_plain(self) -> dict[str, Plain]:
        """Return the event as JSON values, without empty fields."""
        plain = self.parts()
        if "data" in plain:
            flags: list[list[Plain]] = []
            plain["data"] = _plain(plain["data"], (), flags)
            if flags:
                plain["nonfinite"] = flags
        return plain

    @classmethod
    def from_plain(cls, plain: Plain) -> Event:
        """Return the event that ``to_plain`` described; raises ``ValueError``, ``TypeError`` or ``KeyError``."""
        data = plain.get("data", {})
        if type(data) is not dict:
            raise TypeError("the data of an event is not an object")
        for path, word in plain.get("nonfinite", []):
            _put(data, path, nonfinite_value(word))
        kind = text_checked(plain["kind"])
        data_checked(kind, data)
        source, written = source_from_plain(plain.get("source")), text_checked(plain.get("op", ""))
        op = canonical(written) if kind in OPERATIONS else written  # older files have what the program called it
        if op != written:
            data.setdefault("written", written)
        return cls(kind=kind, op=op, source=source, data=data)


def called(kind: str, written: str, source: SourceLine | None, data: dict[str, Any]) -> Event:
    """Return the event of an operator call; ``written`` is the operator as the program spells it."""
    op = canonical(written)
    return Event(kind, op, source, data if op == written else {**data, "written": written})


@dataclass(slots=True, repr=False)
class Recording(Verbs):
    """What one run of a program did: a ``Graph`` for each backward pass, all events, and the source lines they mention.

    ``rg.record()`` makes one, ``retrograd trace -o run.json`` writes one, ``rg.inspect.load`` reads it. ``findings``,
    ``stats()``, ``save(path)`` and ``show()`` report on it::

        run = rg.inspect.load("run.json")
        print(len(run.graphs), "backward passes,", len(run.events), "events")
        run.show()
    """

    script: str = ""
    """The program: a path, ``-m module`` or ``-c``; empty for ``rg.record()`` and ``rg.debug()``."""
    engine: str = ""
    created: str = ""
    """ISO 8601 time; empty in golden tests."""
    graphs: list[Graph] = field(default_factory=list)
    """The graphs of all backward passes so far, in order."""
    events: list[Event] = field(default_factory=list)
    tensors: list[TensorFacts] = field(default_factory=list)
    """The tensors that events mention, by number."""
    level: str = "graph"
    """How much was recorded: one of ``event_data.LEVELS``."""
    rank: int | None = None
    """Rank of this process in its job; None for a program that runs alone."""
    world_size: int | None = None
    """How many processes the job had."""
    process: str = ""
    """Name of this process if the program started it: ``Process-1``."""
    complete: bool = True
    """Whether the program was recorded to its end; False in a file written while it ran."""
    sources: dict[str, dict[int, str]] = field(default_factory=dict)
    """File -> line number -> text, for the lines that graphs and events mention and those around them."""
    schema: int = SCHEMA
    _read: Callable[[bool], tuple[list[Event], list[TensorFacts]]] | None = field(
        default=None, init=False, repr=False, compare=False
    )
    """Returns events and tensors up to date; its argument says whether they are final."""
    _ended: bool = field(default=False, init=False, repr=False, compare=False)

    def __repr__(self) -> str:
        script = f" of {self.script}" if self.script else ""
        runs, events = len(self.graphs), len(self.events)
        return f"<Recording{script} at level {self.level}: {runs:,} backward passes, {events:,} events>"

    def summarized(self, what: str = "steps") -> int:
        """Return how many ``"steps"`` or backward ``"runs"`` are only summarized, not kept in detail."""
        return sum(event.data.get(what, 0) for event in self.events if event.kind == "summary")

    def read_by(self, read: Callable[[bool], tuple[list[Event], list[TensorFacts]]]) -> None:
        """Let ``read`` supply ``events`` and ``tensors`` each time one of them is read, until ``end`` is called."""
        self._read = read
        del self.events, self.tensors

    def end(self) -> None:
        """Mark the recording as finished: the next values read are kept."""
        self._ended = True

    def __getattr__(self, name: str) -> Any:  # asked only for what is not there
        read = self._read if name in ("events", "tensors") else None
        if read is None:
            return object.__getattribute__(self, name)
        events, tensors = read(self._ended)
        if self._ended:
            self.events, self.tensors, self._read = events, tensors, None
        return tensors if name == "tensors" else events

    def to_plain(self) -> dict[str, Plain]:
        """Return the recording as JSON values; ``from_plain`` gives an equal recording back."""
        return {key: list(part) if isinstance(part, map) else part for key, part in self.plain_parts().items()}

    def plain_parts(self, of_event: Callable[[Event], Any] = Event.to_plain) -> dict[str, Plain]:
        """Return the same as ``to_plain``, but long lists as iterators that convert one entry at a time."""
        events, tensors = list(self.events), list(self.tensors)  # a program that runs on adds to these
        return {
            "schema": self.schema,
            "script": self.script,
            "engine": self.engine,
            "created": self.created,
            "snapshots": map(snapshot_to_plain, list(self.graphs)),
            "events": map(of_event, events),
            "tensors": map(TensorFacts.to_plain, tensors),
            "level": self.level,
            "rank": self.rank,
            "world_size": self.world_size,
            **({"process": self.process} if self.process else {}),
            "complete": self.complete,
            "sources": {
                file: {str(line): text for line, text in lines.items()} for file, lines in self.sources.items()
            },
        }

    @classmethod
    def from_plain(cls, plain: Plain) -> Recording:
        """Return the recording that ``to_plain`` described; raises ``ValueError``, ``TypeError`` or ``KeyError``.

        The lists in ``plain`` are converted in place: holding both versions would take twice the memory.
        """
        found = cls(
            script=text_checked(plain["script"]),
            engine=text_checked(plain["engine"]),
            created=text_checked(plain["created"]),
            graphs=_each_replaced(plain["snapshots"], snapshot_from_plain),
            events=_each_replaced(plain["events"], Event.from_plain),
            tensors=_each_replaced(plain.get("tensors", []), TensorFacts.from_plain),
            level=_level(plain.get("level", LEVELS[0])),
            rank=_whole(plain.get("rank")),
            world_size=_whole(plain.get("world_size")),
            process=text_checked(plain.get("process", "")),
            complete=plain.get("complete") is not False,
            sources={file: _source_lines(lines) for file, lines in plain["sources"].items()},
            schema=plain["schema"],
        )
        _check_graphs_of(found)
        _check_tensors_of(found)
        return found


def _each_replaced(plain: Plain, make: Callable[[Plain], Any]) -> list[Any]:
    """Replace each entry of a list by what ``make`` returns for it, and return the list."""
    entries = entries_checked(plain)
    for place, entry in enumerate(entries):
        entries[place] = make(entry)
    return entries


def _check_graphs_of(recording: Recording) -> None:
    """Raise ``ValueError`` if an event refers to a graph that the recording does not hold."""
    count = len(recording.graphs)
    for event in recording.events:
        number = event.data.get("snapshot")
        if number is not None and (type(number) is not int or not 0 <= number < count):
            raise ValueError(f"an event refers to graph {number} of {count}")


def _check_tensors_of(recording: Recording) -> None:
    """Raise ``ValueError`` if an event refers to a tensor that the recording does not hold, or lacks a list of them."""
    count = len(recording.tensors)
    for event in recording.events:
        data = event.data
        rows = [data[key] for key in TENSOR_KEYS if key in data]
        for key in TENSORS_KEYS:
            if key in data:
                rows += entries_checked(data[key])
        for row in rows:
            if row is not None and (type(row) is not int or not 0 <= row < count):
                raise ValueError(f"an event refers to tensor {row!r} of {count}")
        for key in NAMES_KEYS:
            for name in entries_checked(data[key]) if key in data else ():
                text_checked(name)


def _level(value: Plain) -> str:
    """Return a level of recording; raises ``ValueError`` if there is no such level."""
    if value not in LEVELS:
        raise ValueError(f"there is no level {text_checked(value)!r}")
    return str(value)


def _whole(value: Plain) -> int | None:
    """Return a count, or None."""
    return None if value is None else len_checked(value)


def _source_lines(plain: Plain) -> dict[int, str]:
    """Return a mapping from line number to text."""
    return {int(line): text_checked(text) for line, text in plain.items()}


_AS_IT_IS = frozenset({str, int, bool, type(None)})
"""Types whose values are valid JSON; checked first, since nearly all values have one of these."""


def _plain(value: Any, path: tuple[Plain, ...], flags: list[list[Plain]]) -> Plain:
    """Return ``value`` as JSON values; a NaN or infinity becomes null, and its path and kind go into ``flags``.

    It recurses over the nesting of one event's data, which its maker bounds, never over a graph.
    """
    if type(value) in _AS_IT_IS or (type(value) is float and math.isfinite(value)):
        return value
    if isinstance(value, dict):
        return {
            str(key): entry if type(entry) in _AS_IT_IS else _plain(entry, (*path, str(key)), flags)
            for key, entry in value.items()
        }
    if isinstance(value, (list, tuple)):
        if _AS_IT_IS.issuperset(map(type, value)):
            return list(value)
        return [_plain(entry, (*path, index), flags) for index, entry in enumerate(value)]
    if isinstance(value, str):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return _finite(float(value), path, flags)
    return f"<{type(value).__name__}>"


def _finite(value: float, path: tuple[Plain, ...], flags: list[list[Plain]]) -> float | None:
    """Return ``value``, or None after flagging it if JSON cannot represent it."""
    if math.isfinite(value):
        return value
    flags.append([list(path), nonfinite_word(value)])
    return None


def _put(data: Plain, path: Plain, value: float) -> None:
    """Set the entry at ``path`` in nested lists and dictionaries."""
    *parents, last = path
    for step in parents:
        data = data[step]
    data[last] = value
