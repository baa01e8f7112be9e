"""The facts of one call of a PyTorch function, as noted; its event is made from them when somebody reads."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....event_data import Stack
from ....events import Event, Facts
from ....journal import Maker, Note, Rows
from ...call_data import Measured, call_data, give_names, say_made
from ...surroundings import Surroundings
from ..values.far import FarFacts
from ..values.ranges import Figures
from .call_sites import Site
from .names import assigned

Ways = dict[int, str]
"""Number of a tensor that shares memory behind the version counter's back -> how it came to be."""


class CallFacts(NamedTuple):
    """One call; as a plain tuple it is a note."""

    make: Maker
    kind: str
    site: Site
    ways: Ways
    """Those of the whole recording, in the making."""
    around: Surroundings
    inputs: tuple[int, ...]
    names: tuple[str, ...]
    """How the line spells the inputs."""
    arguments: dict[str, Any] | None
    nodes: tuple[int, int] | None
    outputs: tuple[int, ...]
    saves: tuple[int, ...]
    """Tensors that its nodes keep."""
    measures: Figures | FarFacts
    """Ranges and sums of the results, by turns; empty where nothing was read."""
    stack: list[Stack] | None
    """The user's frames, where they are worth knowing."""
    more: dict[str, Any] | None
    """What few calls have."""

    def way(self, rows: Rows) -> str:
        """Return how an in-place write reached the memory."""
        assert self.more is not None
        target: int = self.more["target"]
        return self.ways.get(target, "") or ("view" if rows[target].view_of is not None else "")

    def enter_results(self, row: int, rows: Rows) -> None:
        """Say of new results which event made them, and what they share memory with."""
        inputs, way = self.inputs, self.site.rule.reason
        say_made(self.outputs, inputs, row, rows)
        for number in self.outputs:
            facts = rows[number]
            if way in ("data", "detach") and inputs:
                facts.view_of = inputs[0]
                self.ways[number] = way
            elif facts.view_of is None and inputs and number not in inputs:
                self._follow(number, rows)

    def _follow(self, number: int, rows: Rows) -> None:
        """A view of a tensor that shares memory unseen shares it, too."""
        first = self.inputs[0]
        facts, source = rows[number], rows[first]
        if facts.storage is not None and facts.storage == source.storage:
            facts.view_of = first
            if first in self.ways:
                self.ways[number] = self.ways[first]

    def data(self, way: str) -> dict[str, Any]:
        """Return the data of the event."""
        figures = list[Measured]()
        if not isinstance(self.measures, FarFacts):
            lows, highs, sums = self.measures[::3], self.measures[1::3], self.measures[2::3]
            ends = zip(lows, highs, sums, strict=True)
            figures = [(None if low is None or high is None else (low, high), total) for low, high, total in ends]
        data = call_data(
            self.around,
            (self.inputs, self.names),
            (self.outputs, assigned(self.site.spelling, len(self.outputs))),
            figures,
            written=self.site.other_name,
            arguments=self.arguments,
            nodes=self.nodes and list(self.nodes),
            saves=list(self.saves),
            stack=self.stack,
        )
        if self.kind == "inplace":
            data["through"] = way
        if isinstance(self.measures, FarFacts):
            self.measures.add_to(data)
        return data | self.more if self.more else data


def event_of_call(note: Note, row: int, rows: Rows) -> Event:
    """Make the event of a call; ``Maker``."""
    call = CallFacts._make(note)
    way = call.way(rows) if call.kind == "inplace" else ""
    give_names(call.inputs, call.names, rows)
    call.enter_results(row, rows)
    return Event.later(call.kind, call.site.rule.op, call.site.line, _described, (note, way))


def _described(facts: Facts) -> dict[str, Any]:
    note, way = facts
    return CallFacts._make(note).data(way)
