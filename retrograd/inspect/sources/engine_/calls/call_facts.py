"""The facts of one operator call; its event and the entry of its result are made from them on first read."""

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
    """How many of the inputs are operands; the rest are index tensors and the like."""
    within: Sequence[int]
    """Tensors that the same call of the user has made on its way: the line has no words for them."""
    arguments: dict[str, Any] | None
    """Plain ones that are not as usual, by position."""
    results: int | Sequence[int]
    """A result alone is just its number."""
    fresh: Any
    """Shape and dtype, as the engine has them, of a result whose row is to be filled, and ``storage`` the number of
    its memory."""
    storage: int
    limits: tuple[float, float] | None
    """Range of the first result, and ``total`` its sum."""
    total: float | None
    others: Sequence[Measured]
    """Of further results."""
    took: int
    """Nanoseconds."""
    node: int | None
    """Number of its node, counted from the beginning of the recording."""
    saves: tuple[int, ...]
    """As ``saved_positions``."""
    stack: list[StackFrame] | None
    """The user's frames, where they are worth knowing."""
    more: dict[str, Any] | None
    """What few calls have."""

    @property
    def outputs(self) -> list[int]:
        """The results."""
        return [self.results] if isinstance(self.results, int) else list(self.results)

    def name_operands(self, rows: Rows) -> list[str]:
        """Return how the line spells the inputs, and name those by it that have no name yet."""
        names = named_by(self.site.texts, self.inputs[: self.operands], self.within, rows)
        return shared_texts([*names, *[""] * (len(self.inputs) - self.operands)])

    def enter_results(self, row: int, rows: Rows) -> None:
        """Say of the results which event made them."""
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
        """The data of the event."""
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
    """Make the event of a call; ``Maker``."""
    call = CallFacts._make(note)
    names = call.name_operands(rows)
    call.enter_results(row, rows)
    return Event.later(call.kind, call.site.operator.name, call.site.line, _described, (note, names))


def _described(facts: tuple[Any, ...]) -> dict[str, Any]:
    note, names = facts
    return CallFacts._make(note).data(names)
