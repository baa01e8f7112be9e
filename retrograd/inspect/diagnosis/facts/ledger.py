"""``Ledger``: the gradients that reached each leaf's ``.grad``, and which steps of which optimizers used them.

Everything follows from effects: a step records which gradients it found, and which parameters it left unchanged.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...program.places import SourceLine
from ...recording.events import Event
from ..thresholds import CALLS_OF_A_STEP
from .calls import CallTable
from .row_table import first_between, last_before

_CLEARING = ("grad-cleared", "grad-zeroed", "zero_grad")
"""Changes of a leaf that remove its gradient, besides assigning another one."""
_NONE_HELD: dict[str, int] = {}


@dataclass(slots=True)
class Step:
    """One step of one optimizer."""

    row: int
    event: Event
    held: dict[int, str]
    """Leaf -> its group and place, ``"0.3"``."""
    end: int
    """The row at which it was over."""
    calls: list[tuple[int, Event]] = field(default_factory=list)
    """What each call of its closure left."""
    has_closure: bool = False
    """Whether it calls a closure that computes gradients in it: trainers give it one that computes nothing."""

    @property
    def effects_known(self) -> bool:
        """Whether the recording says what it found and changed."""
        return "still" in self.event.data

    def finds(self, leaf: int) -> bool:
        """Whether it finds a nonzero gradient, as far as recorded."""
        return leaf not in self.event.data.get("without", ()) and leaf not in self.event.data.get("zero", ())

    def finds_same(self, leaf: int) -> bool:
        """Whether all rows of a leaf were equal when it began."""
        return leaf in self.event.data.get("alike", ())

    def leaves_alone(self, leaf: int) -> bool:
        """Whether the leaf was the same after the step, bit by bit."""
        return leaf in self.event.data.get("still", ())

    def setting(self, leaf: int, name: str) -> Any:
        """Return a setting of the group that a leaf is in, None where it is unknown."""
        settings = self.event.data.get("settings") or []
        group = int(self.held.get(leaf, "0").partition(".")[0])
        return settings[group].get(name) if group < len(settings) else None

    @property
    def settings_line(self) -> SourceLine | None:
        """The line that last changed the settings, None where they are those that it was made with."""
        found = self.event.data.get("set_at")
        return SourceLine(*found) if found else None


@dataclass(slots=True)
class Optimizer:
    """One optimizer: the event that made it, all parameters it ever held, and its steps."""

    number: object
    row: int
    event: Event
    leaves: dict[int, None] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    clears: list[int] = field(default_factory=list)
    """Rows at which it cleared gradients."""


class Ledger:
    """The optimizers of one recording, their steps, and the gradients that these find."""

    def __init__(self, table: CallTable, accumulated: dict[int, list[int]]) -> None:
        self._table = table
        self.accumulated = accumulated
        """Leaf -> rows at which a gradient arrived."""
        self.optimizers: dict[object, Optimizer] = {}
        """By number, in the order in which they were first seen."""
        self.steps: list[Step] = []
        self.step_at: dict[int, Step] = {}
        """By row."""
        self._held: dict[int, dict[int, str]] = {}
        """What steps hold, by ``id`` of what their events say of that, which most of them share."""
        self.steps_of: dict[int, list[Step]] = defaultdict(list)
        """Leaf -> the steps of whatever holds it."""
        self.with_closures: set[int] = set()
        """The leaves of steps that call closures."""
        self.changed = _changed(table)
        """Leaf -> rows at which the program itself changed its gradient to other than zeros, in order."""
        self._set: dict[int, list[int]] = {}
        """Leaf -> rows at which the program set its gradient to other than it made of the one before."""
        self._enter_settings()
        self.given_by_hand = set(self._set)
        """Leaves whose ``.grad`` the program assigned, to something not derived from the old one."""
        for row, event in table.of_kind("optimizer"):
            self._enter(row, event)
        arrivals = table.rows.get("accumulate", [])
        for step in self.steps:
            first = bisect_right(arrivals, step.row)
            step.has_closure = first < len(arrivals) and arrivals[first] < step.end

    def _enter(self, row: int, event: Event) -> None:
        """Take in one event of an optimizer."""
        number, action = event.data.get("owner"), event.data.get("action")
        known = self.optimizers.setdefault(number, Optimizer(number, row, event))
        parameters = event.data.get("parameters") or _NONE_HELD
        held = self._held.get(id(parameters))
        if held is None:
            held = self._held[id(parameters)] = {leaf: place for place, leaf in parameters.items()}
        known.leaves.update(dict.fromkeys(held))
        if action == "step":
            step = Step(row, event, held, row)
            known.steps.append(step)
            self.steps.append(step)
            self.step_at[row] = step
            if step.has_closure:
                self.with_closures.update(held)
            for leaf in held:
                self.steps_of[leaf].append(step)
        elif action == "zero_grad":
            known.clears.append(row)
        elif action == "evaluated" and known.steps:
            known.steps[-1].calls.append((row, event))
        elif action == "stepped" and known.steps:
            known.steps[-1].end = row

    def _enter_settings(self) -> None:
        """Tell gradients that the program made of those before them from others."""
        latest: dict[int, int] = {}
        for row, event in self._table.of_kind("leaf", change="grad-set"):
            leaf, given = event.data.get("tensor", -1), event.data.get("given", -1)
            own = given >= 0 and self._is_own_gradient(leaf, given, row, latest.get(leaf, -1))
            (self.changed if own else self._set).setdefault(leaf, []).append(row)
            latest[leaf] = given
        for rows in self.changed.values():
            rows.sort()

    def _is_own_gradient(self, leaf: int, given: int, row: int, latest: int) -> bool:
        """Whether what a leaf was given as its gradient was made, a few calls ago, of the one that it had.

        That one is the latest that it was given, or known by its shape, and by no recorded call having made it.
        """
        table, shape = self._table, self._table.facts(leaf).shape

        def had(tensor: int) -> bool:
            unmade = not table.made_in.get(tensor) and not table.requires_grad(tensor)
            return tensor == latest or (unmade and table.facts(tensor).shape == shape)

        return leaf in self.accumulated and made_of(table, [given], row, had)

    # -- gradients of one leaf

    def arrivals(self, leaf: int, after: int, before: int) -> list[int]:
        """Return the rows, between two others, at which gradients arrived in a leaf."""
        rows = self.accumulated.get(leaf, [])
        return rows[bisect_right(rows, after) : bisect_left(rows, before)]

    def brings(self, arrival: int) -> bool:
        """Whether the gradient that arrived at an event is nonzero, as far as known."""
        return bool(self._table.events[arrival].data.get("grad_norm", 1.0) != 0.0)

    def cleared_at(self, leaf: int, before: int) -> int:
        """Return the event at which a leaf's gradient was last cleared before another, -1 for none."""
        changes = [self._table.leaf_events.get((leaf, change), ()) for change in _CLEARING]
        return max(last_before(rows, before) for rows in (*changes, self._set.get(leaf, ())))

    def carried_on(self, leaf: int, row: int) -> bool:
        """Whether the next gradient to arrive at a leaf after an event is added to its current one."""
        following = self.accumulated[leaf][bisect_right(self.accumulated[leaf], row) :][:1]
        return any(
            self._table.events[one].data.get("before") == "kept" and self.cleared_at(leaf, one) < row
            for one in following
        )

    def changed_between(self, leaf: int, after: int, before: int) -> bool:
        """Whether the program itself changed a leaf's gradient between two rows, to other than zeros."""
        return first_between(self.changed.get(leaf, ()), after, before) is not None

    def assigned_between(self, leaf: int, after: int, before: int) -> Sequence[int]:
        """Return the rows, between two others, at which the program gave a leaf another gradient."""
        rows = self._set.get(leaf, [])
        return rows[bisect_right(rows, after) : bisect_left(rows, before)]

    def previous(self, step: Step) -> int:
        """Return the end of the same optimizer's previous step, -1 for none."""
        steps = self.optimizers[step.event.data.get("owner")].steps
        place = bisect_left(steps, step.row, key=lambda one: one.row)
        return steps[place - 1].end if place else -1

    def fresh(self, step: Step, leaf: int) -> list[int]:
        """Return the arrivals since the optimizer's step before that a step makes use of."""
        if not step.finds(leaf) and not step.has_closure:
            return []
        since = max(self.previous(step), -1 if step.has_closure else self.cleared_at(leaf, step.row))
        return self.arrivals(leaf, since, step.end + 1)

    def dtype(self, leaf: int) -> str:
        """Return the dtype of a leaf, or of what it was given last as its memory."""
        written = (self._table.events[row].data for row in self._table.leaf_events.get((leaf, "written"), ()))
        given = [data["given"] for data in written if "given" in data]
        return self._table.facts(given[-1] if given else leaf).dtype

    def moved_by_hand(self, leaf: int) -> bool:
        """Whether the program itself writes into a leaf, or assigns its memory, once it has a gradient."""
        first, written = self.accumulated[leaf][0], self._table.leaf_events.get((leaf, "written"), ())
        return self._table.written_after(leaf, first) or any(row > first for row in written)


def _changed(table: CallTable) -> dict[int, list[int]]:
    """Return leaf -> rows at which the program itself wrote into its gradient, and other than zeros.

    What functions that clip, unscale, reduce or clear write is part of their calls.
    """
    calls = [event for kind in ("clip", "scaling", "optimizer") for _, event in table.of_kind(kind)]
    calls += [event for _, event in table.of_kind("leaf", change="grad-zeroed")]
    others = {_line(event) for event in calls}
    found: dict[int, list[int]] = {}
    summed = {leaf for _, event in table.of_kind("collective") for leaf in event.data.get("gradients_of", ())}
    for row, event in table.of_kind("inplace"):
        leaf = event.data.get("gradient_of")
        within = event.data.get("run") is not None  # by a hook: the gradient is about to arrive
        zeros = event.data.get("range") == [[0.0, 0.0]]
        if leaf is not None and leaf not in summed and not within and not zeros and _line(event) not in others:
            found.setdefault(leaf, []).append(row)
    return found


def _line(event: Event) -> tuple[str, int] | None:
    return None if event.source is None else event.source[:2]


def made_of(table: CallTable, tensors: Iterable[int], row: int, wanted: Callable[[int], bool]) -> bool:
    """Whether tensors were made before a row, in as many calls as a step takes at most, of one that is wanted."""
    level = list(tensors)
    for _ in range(CALLS_OF_A_STEP):
        made = dict.fromkeys(table.last_producer(one, row) for one in level)
        level = [one for call in made if call is not None for one in table.inputs(call)]
        if any(map(wanted, level)):
            return True
    return False
