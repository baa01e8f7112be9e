"""The facts of one operator call, from which its event and its result's facts are made on first read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ....program.stacks import StackFrame
from ....recording.events import Event
from ....recording.journal import Maker, Note, Rows
from ....recording.shared_parts import shared_texts
from ....recording.tensor_facts import TensorFacts
from ...call_data import Measured, Surroundings, call_data, say_made
from ..watching import shape_and_dtype
from .call_sites import Site
from .names import fitting, named_by
from .saved import saved_numbers


class CallFacts(NamedTuple):
    """One call of an operator; as a plain tuple it is a note."""

    make: Maker
    kind: str
    site: Site
    around: Surroundings
    inputs: Sequence[int]
    operands: int
    """Number of inputs that are operands; the others are index tensors and the like."""
    within: Sequence[int]
    """Tensors made earlier within the same call of the user: the line has no text for them."""
    arguments: dict[str, Any] | None
    """Plain arguments that are not defaults, by position."""
    results: int | Sequence[int]
    """A single result is just its number."""
    fresh: Any
    """The engine's shape and dtype of a result whose facts are to be filled in; ``storage`` is the number of its
    memory."""
    storage: int
    limits: tuple[float, float] | None
    """Range of the first result; ``total`` is its sum."""
    total: float | None
    others: Sequence[Measured]
    """Range and sum of further results."""
    took: int
    """Duration in nanoseconds."""
    node: int | None
    """Number of its node, counted from the beginning of the recording."""
    saves: tuple[int, ...]
    """As ``saved_positions``."""
    stack: list[StackFrame] | None
    """The user's frames, if they are informative."""
    more: dict[str, Any] | None
    """Data that few calls have."""

    @property
    def outputs(self) -> list[int]:
        """Return the results."""
        return [self.results] if isinstance(self.results, int) else list(self.results)

    def name_operands(self, rows: Rows) -> list[str]:
        """Return the texts of the inputs, and give them as names to tensors without one."""
        names = named_by(self.site.texts, self.inputs[: self.operands], self.within, rows)
        return shared_texts([*names, *[""] * (len(self.inputs) - self.operands)])

    def enter_results(self, row: int, rows: Rows) -> None:
        """Set the event that made the results."""
        site, fresh = self.site, self.fresh
        if fresh is None:
            say_made(self.outputs, self.inputs, row, rows)
        else:
            shape, dtype = shape_and_dtype(fresh)
            name = site.variables[0] if len(site.variables) == 1 else ""
            facts = TensorFacts(shape, dtype, self.storage, requires_grad=True, leaf=False, name=name, made_by=row)
            facts.source = site.line
            rows[self.outputs[0]] = facts

    def data(self, names: list[str]) -> dict[str, Any]:
        """Return the data of the event."""
        outputs, node = self.outputs, self.node
        data = call_data(
            self.around,
            (self.inputs, names),
            (outputs, fitting(self.site.targets, outputs)),
            [(self.limits, self.total), *self.others],
            written=self.site.other_name,
            arguments=self.arguments,
            nodes=None if node is None else [node, node + 1],
            saves=saved_numbers(self.saves, self.inputs, outputs),
            stack=self.stack,
            time_us=self.took / 1e3,
        )
        return data | self.more if self.more else data


def event_of_call(note: Note, row: int, rows: Rows) -> Event:
    """Make the event of a call; a ``Maker``."""
    call = CallFacts._make(note)
    names = call.name_operands(rows)
    call.enter_results(row, rows)
    return Event.later(call.kind, call.site.operator.name, call.site.line, _described, (note, names))


def _described(facts: tuple[Any, ...]) -> dict[str, Any]:
    note, names = facts
    return CallFacts._make(note).data(names)
