"""Records calls like earlier ones from their place in one go, as notes of numbers and texts alone.

Between two kernels of PyTorch nothing of ours is in the processor's caches, and the same code costs several times what
it does in a loop; so what most calls go through is short, and touches few objects. Each object that stays makes
Python's garbage collector run sooner: a note refers only to what it shares with others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .....interpreter import getframe
from ....operators import Operator
from ....program.modules import called_in_evaluation
from ....recording.events import Event, Facts
from ....recording.journal import Note, Rows
from ...array_values import flat_share
from ...base import Sink
from ...call_data import Measured, Surroundings, Transforms, call_data, give_names, say_made
from ..library import LIBRARY
from ..values.allocations import Allocations
from ..values.ranges import Ranges
from .call_facts import CallNotes
from .call_sites import Site, Sites
from .calls import Call, versions_of
from .names import assigned
from .saved import saves_of
from .saved_sizes import SavedSizes
from .tensors import Fresh, facts_of, fresh_result


class UsualFacts(NamedTuple):
    """One call; as a plain tuple it is a note, the numbers of its inputs at the end."""

    make: int
    site: int
    around: Surroundings
    arguments: dict[str, Any] | None
    first: int
    """Its first node."""
    end: int
    """The node after its last one; the same if it made none."""
    saves: tuple[int, ...]
    """Positions of what its nodes save, among inputs and then the result."""
    output: int
    fresh: Fresh
    low: float
    high: float
    total: float
    flat: float
    """Share of entries where the slope is zero."""
    stack: int
    """Number of the user's frames, -1 if they are not informative."""


_FIELDS = len(UsualFacts._fields)


class UsualCalls:
    """Records calls of which nothing is to be said but what they took and returned: one new, ordinary tensor."""

    def __init__(
        self, sink: Sink, sites: Sites, ranges: Ranges, allocations: Allocations, saved: SavedSizes, notes: CallNotes
    ) -> None:
        self._note, self._table, self._sites, self._saved = sink.note, sink.tensors, sites, saved
        self._ranges, self._now, self._unwritten = ranges, ranges.readable.now, allocations.unwritten
        self._notes = notes
        self._tensor: type = LIBRARY.torch.Tensor
        self._around: Surroundings = (True, False, "", None, None)
        self._make = sink.maker(self._event)

    def record(self, call: Call, run: int | None, transforms: Transforms, note_sizes: Callable[..., None]) -> bool:
        """Record a call whose result is a plain tensor; False, and nothing is done, if there is more to be looked at.

        ``note_sizes`` takes what its nodes save.
        """
        site, result, table = self._sites.at(call), call.result, self._table
        if (
            not (site.plain and call.grad and site.is_as_before(call))
            or (True in call.required and not result.requires_grad)
            or versions_of(call.inputs) != call.versions
            or transforms.open
            or self._unwritten
            or not self._now()
        ):
            return False
        inputs = table.numbers(call.inputs)
        found = None if None in inputs or table.known(result) is not None else fresh_result(table, result)
        figures = None if found is None or not found[1].near else self._ranges.readable.quick_range(result, near=True)
        if found is None or figures is None or (site.drops and called_in_evaluation(getframe(1))):
            return False
        memory, alike = found
        flat = 0.0 if site.rule.operator.flat is None else self._flat_share(site.rule.operator, result, figures)
        number = table.reserve(result, memory)[0]
        self._ranges.keep(number, result, figures)
        first, end = call.before, call.after
        saves: tuple[int, ...] = ()
        if end > first:
            kept = saves_of(call, result, self._saved, site.kept, same=True)
            saves = kept.places
            note_sizes(kept, call, result, first - call.marks.begin, (*inputs, number))
        self._note(
            (self._make, site.number, self._surroundings(call.marks.scope, run), site.said, first - call.marks.begin,
             end - call.marks.begin, saves, number, alike.fresh, *figures, flat,
             self._notes.stack_number(call) if site.nested else -1, *inputs)
        )  # fmt: skip
        return True

    def _surroundings(self, scope: str, run: int | None) -> Surroundings:
        """Return the surroundings of a call with gradients on, mostly the same object as at the previous call."""
        known = self._around
        if known[2] != scope or known[3] != run:
            known = self._around = (True, False, scope, run, None)
        return known

    def _flat_share(self, does: Operator, result: Any, figures: tuple[float, float, float]) -> float:
        """Return the share of a result's entries at which the slope is zero."""
        array = self._ranges.readable.array(result)
        return 0.0 if array is None else flat_share(does, array, figures)

    def _event(self, note: Note, row: int, rows: Rows) -> Event:
        """Make the event of a call; a ``Maker``."""
        call, inputs = UsualFacts._make(note[:_FIELDS]), note[_FIELDS:]
        site: Site = self._notes.sites[call.site]
        number = call.output
        rows[number] = facts_of(call.fresh, rows.facts(number).storage, site.target[0], row, site.line)
        give_names(inputs, site.texts or (), rows)
        say_made((number,), inputs, row, rows)
        if inputs:
            self._notes.follow(number, inputs[0], rows)
        return Event.later("operation", site.rule.op, site.line, self._described, (note,))

    def _described(self, facts: Facts) -> dict[str, Any]:
        """Return the data of an event."""
        call, inputs = UsualFacts._make(facts[0][:_FIELDS]), facts[0][_FIELDS:]
        site: Site = self._notes.sites[call.site]
        operands, figures = (*inputs, call.output), list[Measured]([((call.low, call.high), call.total)])
        data = call_data(
            call.around,
            (inputs, site.texts or ()),
            ((call.output,), assigned(site.spelling, 1)),
            figures,
            written=site.other_name,
            arguments=call.arguments,
            nodes=[call.first, call.end] if call.end > call.first else None,
            saves=sorted({operands[place] for place in call.saves}),
            stack=None if call.stack < 0 else self._notes.stacks[call.stack],
        )
        if call.flat:
            data["flat_share"] = call.flat
        return data
