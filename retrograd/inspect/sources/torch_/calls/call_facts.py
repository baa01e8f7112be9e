"""Notes of calls of PyTorch functions, and the events made of them on first read."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....program.stacks import StackFrame
from ....recording.events import Event, Facts
from ....recording.journal import Note, Rows
from ...base import Sink
from ...call_data import Measured, Surroundings, call_data, give_names, say_made
from ..values.far import FarFacts
from ..values.ranges import Figures
from .call_sites import Site
from .calls import Call
from .names import assigned
from .tensors import Fresh, facts_of

Ways = dict[int, str]
"""Number of a tensor that shares memory without sharing its version counter -> the call that made it."""


class CallFacts(NamedTuple):
    """One call; as a plain tuple it is a note, which refers to objects of the program by number only."""

    make: int
    kind: str
    site: int
    around: Surroundings
    inputs: tuple[int, ...]
    names: tuple[str, ...]
    """Texts of the inputs in the line."""
    arguments: dict[str, Any] | None
    nodes: tuple[int, int] | None
    outputs: tuple[int, ...]
    fresh: Fresh | None
    """The facts of a single new result."""
    saves: tuple[int, ...]
    """Tensors that its nodes save."""
    measures: Figures | FarFacts
    """Ranges and sums of the results; empty if nothing was read."""
    stack: int
    """Number of the user's frames, if informative; else -1."""
    more: dict[str, Any] | None
    """Data that few calls have."""


class CallNotes:
    """Resolves the numbers in the notes of one recording, and makes events of the notes."""

    def __init__(self, sink: Sink, sites: list[Site], ways: Ways) -> None:
        """``sites`` and ``ways`` are shared by the whole recording, and grow."""
        self.sites, self._ways = sites, ways
        self.stacks: list[list[StackFrame]] = []
        """Stacks by number."""
        self._places: dict[int, int] = {}
        """id of a stack -> its number."""
        self.make = sink.maker(self._event)
        """The number of the maker of these events."""

    def stack_number(self, call: Call) -> int:
        """Return the number of the user's frames at a call, which are kept as long as the recording."""
        stack = call.stack()
        number = self._places.get(id(stack))
        if number is None:
            number = self._places[id(stack)] = len(self.stacks)
            self.stacks.append(stack)
        return number

    def _event(self, note: Note, row: int, rows: Rows) -> Event:
        """Make the event of a call; a ``Maker``."""
        call = CallFacts._make(note)
        site = self.sites[call.site]
        if call.fresh is not None:
            number = call.outputs[0]
            rows[number] = facts_of(call.fresh, rows.facts(number).storage, site.target[0], row, site.line)
        way = self._access(call, rows) if call.kind == "inplace" else ""
        give_names(call.inputs, call.names, rows)
        self._enter_results(call, site.rule.reason, row, rows)
        return Event.later(call.kind, site.rule.op, site.line, self._described, (note, way))

    def _access(self, call: CallFacts, rows: Rows) -> str:
        """Return how an in-place write reached the memory."""
        assert call.more is not None
        target: int = call.more["target"]
        return self._ways.get(target, "") or ("view" if rows[target].view_of is not None else "")

    def _enter_results(self, call: CallFacts, way: str, row: int, rows: Rows) -> None:
        """Set the event that made new results, and how they share memory."""
        inputs = call.inputs
        say_made(call.outputs, inputs, row, rows)
        for number in call.outputs:
            facts = rows[number]
            if way in ("data", "detach") and inputs:
                facts.view_of = inputs[0]
                self._ways[number] = way
            elif inputs and number not in inputs:
                self.follow(number, inputs[0], rows)

    def follow(self, number: int, first: int, rows: Rows) -> None:
        """Mark a view of a tensor that shares memory unnoticed likewise."""
        facts, source = rows[number], rows[first]
        if facts.storage is not None and facts.storage == source.storage:
            facts.view_of = first if facts.view_of is None else facts.view_of
            if first in self._ways:
                self._ways[number] = self._ways[first]

    def _described(self, facts: Facts) -> dict[str, Any]:
        """Return the data of an event."""
        note, way = facts
        call = CallFacts._make(note)
        site, figures = self.sites[call.site], list[Measured]()
        if not isinstance(call.measures, FarFacts):
            lows, highs, sums = call.measures[::3], call.measures[1::3], call.measures[2::3]
            ends = zip(lows, highs, sums, strict=True)
            figures = [(None if low is None or high is None else (low, high), total) for low, high, total in ends]
        data = call_data(
            call.around,
            (call.inputs, call.names),
            (call.outputs, assigned(site.spelling, len(call.outputs))),
            figures,
            written=site.other_name,
            arguments=call.arguments,
            nodes=call.nodes and list(call.nodes),
            saves=list(call.saves),
            stack=None if call.stack < 0 else self.stacks[call.stack],
        )
        if call.kind == "inplace":
            data["through"] = way
        if isinstance(call.measures, FarFacts):
            call.measures.add_to(data)
        return data | call.more if call.more else data
