"""``CallTable``: the calls of a recording, indexed by the tensors that they took, returned and wrote.

A *call* is an event that computes (``CALLS``); its row is its place in the recording and therefore a time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from ...operators import Trait, is_a
from ...program.places import SourceLine
from ...recording.events import Event, Recording
from ...recording.memory_parts import Part, contiguous, shares_entries
from ...recording.tensor_facts import TensorFacts
from .detachments import Detachments
from .row_table import RowTable, first_between
from .runs import Run, runs_of

CALLS = frozenset({"operation", "inplace", "cut", "function"})
"""Kinds of events whose inputs and outputs are tensors."""


class CallTable:
    """The calls of one recording by tensor: which made, used and wrote each."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.events = recording.events
        self.tensors = recording.tensors
        self.runs: list[Run] = runs_of(recording)
        """Backward passes, in order; nested ones included."""
        self.made_in = RowTable()
        """Tensor -> rows of the calls that returned it."""
        self.used_in = RowTable()
        """Tensor -> rows of the calls that took it as an argument."""
        self.writes_to = RowTable()
        """Storage -> rows of the calls that wrote into it."""
        self.sharing = RowTable()
        """Storage -> tensors that lie in it."""
        self._recorded_in = RowTable()
        """Tensor -> those of ``made_in`` that are part of the backward graph."""
        self._recorded_writes = RowTable()
        """The same of ``writes_to``."""
        self.detached = Detachments()
        self._node_rows: list[int] = []
        """Rows of the calls that made nodes."""
        self._inputs: list[Sequence[int] | None] = [None] * len(self.events)
        self._known_rows: dict[tuple[str, tuple[tuple[str, Any], ...]], list[int]] = {}
        self._index()

    def _index(self) -> None:
        for tensor, facts in enumerate(self.tensors):
            if facts.storage is not None:
                self.sharing.add(facts.storage, tensor)
        for row, event in enumerate(self.events):
            if event.kind in CALLS and event.data.get("action", "forward") == "forward":
                self._index_call(row, event)

    def _index_call(self, row: int, event: Event) -> None:
        """Enter a call under the tensors that it took and returned, and under the memory that it wrote."""
        for tensor in self.inputs(row):
            self.used_in.add(tensor, row)
        recorded = self.has_node(row)
        outputs = self.detached.note(row, event.data)
        for tensor in dict.fromkeys(outputs):
            self.made_in.add(tensor, row)
            if recorded and (self.tensors[tensor].requires_grad or not self.is_gradient(row)):
                self._recorded_in.add(tensor, row)
        target = self.target(row)
        storage = None if target is None else self.tensors[target].storage
        if storage is not None:
            self.writes_to.add(storage, row)
            if recorded:
                self._recorded_writes.add(storage, row)
        if self.nodes(row):
            self._node_rows.append(row)

    # -- events by kind

    @cached_property
    def rows(self) -> dict[str, list[int]]:
        """Kind of event -> its rows."""
        found: dict[str, list[int]] = defaultdict(list)
        for row, event in enumerate(self.events):
            found[event.kind].append(row)
        return found

    def of_kind(self, kind: str, **data: Any) -> Iterator[tuple[int, Event]]:
        """Yield (row, event) for the events of a kind whose data has all these values."""
        events = self.events
        for row in self._selected(kind, tuple(data.items())) if data else self.rows.get(kind, ()):
            yield row, events[row]

    def _selected(self, kind: str, wanted: tuple[tuple[str, Any], ...]) -> list[int]:
        """Return the events of a kind whose data has these values; many checks need the same ones."""
        found = self._known_rows.get((kind, wanted))
        if found is None:
            found = self.rows.get(kind, [])
            for key, value in wanted:
                found = [row for row in found if self.events[row].data.get(key) == value]
            if all(type(value) in (str, bool) for _, value in wanted):  # else there is no end of them
                self._known_rows[kind, wanted] = found
        return found

    @cached_property
    def error(self) -> Event | None:
        """The exception that ended the program, or None."""
        return next((self.events[row] for row in reversed(self.rows.get("error", []))), None)

    @property
    def error_text(self) -> str:
        """Its message."""
        return str(self.error.data.get("message", "")) if self.error else ""

    # -- one call

    def nodes(self, row: int) -> range:
        """Return the sequence numbers of the nodes that a call made."""
        data = self.events[row].data
        made = data.get("nodes")
        if made:
            return range(made[0], made[1])
        node = data.get("node")
        return range(0) if node is None else range(node, node + 1)

    def inputs(self, row: int) -> Sequence[int]:
        """Return the tensors that a call read, including the target of a write."""
        found = self._inputs[row]  # most checks ask for those of every call
        if found is None:
            found = self._inputs[row] = tuple(self._found_inputs(row))
        return found

    def _found_inputs(self, row: int) -> list[int]:
        event = self.events[row]
        if is_a(event.op, Trait.LIKE):
            return []
        found = list(dict.fromkeys(event.data.get("inputs", ())))
        if self.is_gradient(row) and self.has_node(row):  # computed from all that the run went through
            run = self._run_before(row)
            found += [root for root in (run.roots if run else ()) if root not in found]
        target = self.target(row)
        return found if target is None or target in found else [target, *found]

    def _run_before(self, row: int) -> Run | None:
        """Return the last run that had ended at a row."""
        place = bisect_left(self.runs, row, key=lambda run: run.begin)
        while place and self.runs[place - 1].end >= row:  # still under way: as many as runs are nested
            place -= 1
        return self.runs[place - 1] if place else None

    def last_begun(self, before: int) -> Run | None:
        """Return the last run that began before a row."""
        place = bisect_left(self.runs, before, key=lambda run: run.begin)
        return self.runs[place - 1] if place else None

    def begun_between(self, after: int, before: int) -> bool:
        """Whether a run began after one row and before another."""
        return (last := self.last_begun(before)) is not None and last.begin > after

    def outputs(self, row: int) -> list[int]:
        """Return the tensors whose values a call determined: its results, and all that lies in memory it wrote."""
        found = list(self.events[row].data.get("outputs", ()))
        target = self.target(row)
        if target is not None:
            found += [target, *(one for one in self.same_memory(target) if self.alias_since(one) < row)]
        return list(dict.fromkeys(found))

    def alias_since(self, tensor: int) -> int:
        """Return the call that made a tensor as an alias of another one in the same memory, as ``detach`` does.

        What was written there before came to the tensor through that call.  -1 if it was made in another way.
        """
        row = self.tensors[tensor].made_by
        if row is None or self.tensors[tensor].storage is None:
            return -1
        given = self.inputs(row)
        shared = {self.tensors[one].storage for one in given if one != tensor}
        return row if tensor not in given and self.tensors[tensor].storage in shared else -1

    def written_names(self, row: int) -> dict[int, str]:
        """Return operand -> how the line of a call spells it, where it does."""
        data = self.events[row].data
        return dict(zip(data.get("inputs", ()), data.get("names", ()), strict=False))

    def numbers(self, row: int) -> list[int | float]:
        """Return the plain numbers that a call takes."""
        return [one for one in (self.events[row].data.get("arguments") or {}).values() if type(one) in (int, float)]

    def does(self, row: int, *traits: Trait) -> bool:
        """Whether the operator of a call has one of these traits."""
        return is_a(self.events[row].op, *traits)

    def is_gradient(self, row: int) -> bool:
        """Whether a call was ``autograd.grad``."""
        return self.events[row].op == "grad"

    def target(self, row: int) -> int | None:
        """Return the tensor that a call wrote into."""
        event = self.events[row]
        return event.data.get("target") if event.kind in ("inplace", "cut") else None

    def has_node(self, row: int) -> bool:
        """Whether a call is part of the backward graph."""
        data = self.events[row].data
        made = bool(data.get("nodes")) or data.get("node") is not None
        return made or (self.is_gradient(row) and self.events[row].kind == "operation")

    def is_leaf(self, tensor: int) -> bool:
        """Whether no recorded call gave this tensor a history."""
        facts = self.tensors[tensor]
        return facts.leaf and not self._recorded_in.get(tensor) and not self._has_hidden_history(tensor, facts)

    def _has_hidden_history(self, tensor: int, facts: TensorFacts) -> bool:
        """Whether a view requires grad like its base although no call is known to cause it: a hidden Function does.

        As for the hooks that run before and after the backward of a module.
        """
        of = facts.view_of
        seen = facts.requires_grad and facts.made_by is not None and not self._switched.get(tensor)
        return of is not None and seen and self.tensors[of].requires_grad and not self.tensors[of].leaf

    def trainable(self, tensors: Iterable[int]) -> set[int]:
        """Return the leaves among tensors that ever required grad."""
        return {one for one in tensors if self.requires_grad(one) and self.is_leaf(one)}

    def has_history(self, tensor: int, row: int | None = None) -> bool:
        """Whether a tensor has a history (before a row, when one is given)."""
        made = self.producers(tensor, len(self.events) if row is None else row, gradients=True)
        return next(made, None) is not None

    def same_memory(self, tensor: int) -> list[int]:
        """Return the other tensors in the same memory."""
        storage = self.tensors[tensor].storage
        return [] if storage is None else [other for other in self.sharing[storage] if other != tensor]

    def facts(self, tensor: int) -> TensorFacts:
        """Return the facts of a tensor."""
        return self.tensors[tensor]

    @cached_property
    def _switched(self) -> dict[int, list[tuple[int, bool]]]:
        """Tensor -> (row, new value) for each time its ``requires_grad`` was set."""
        found: dict[int, list[tuple[int, bool]]] = defaultdict(list)
        for row, event in self.of_kind("leaf", change="requires_grad"):
            found[event.data.get("tensor", -1)].append((row, bool(event.data.get("value"))))
        return found

    def requires_grad(self, tensor: int, row: int | None = None) -> bool:
        """Whether a tensor required grad just before a row; without one, whether it ever did."""
        switched = self._switched.get(tensor, [])
        if row is None:
            return self.tensors[tensor].requires_grad or any(value for _, value in switched)
        place = bisect_left(switched, (row,))
        return switched[place - 1][1] if place else self.tensors[tensor].requires_grad

    def switched_off(self, tensor: int, before: int | None = None) -> int | None:
        """Return the row at which ``requires_grad`` of a tensor was switched off, if it still was before a row.

        Without a row: if it still was in the end.
        """
        switched = self._switched.get(tensor, [])
        off = None
        for place in range(len(switched) if before is None else bisect_left(switched, (before,)), 0, -1):
            row, on = switched[place - 1]
            if on:
                break
            off = row  # repeated, it is not a switch
        return off

    def frozen_at(self, tensor: int, before: int | None = None) -> SourceLine | None:
        """Return the line that switched ``requires_grad`` of a tensor off, as ``switched_off`` does."""
        row = self.switched_off(tensor, before)
        return None if row is None else self.events[row].source

    @cached_property
    def leaf_events(self) -> dict[tuple[int, str], list[int]]:
        """(Leaf, change of it or action of an optimizer that holds it) -> the events."""
        found: dict[tuple[int, str], list[int]] = defaultdict(list)
        for row, event in self.of_kind("leaf"):
            found[event.data.get("tensor", -1), event.data.get("change", "")].append(row)
        for row, event in self.of_kind("optimizer"):
            for tensor in held_by(event):
                found[tensor, event.data.get("action", "")].append(row)
        return found

    @cached_property
    def reads_of(self) -> dict[int, list[int]]:
        """Tensor -> the events at which the program read its ``.grad``."""
        found: dict[int, list[int]] = defaultdict(list)
        for row, event in self.of_kind("read"):
            if event.data.get("tensor") is not None:
                found[event.data["tensor"]].append(row)
        return found

    @cached_property
    def optimizer_steps(self) -> list[int]:
        """The rows at which an optimizer stepped."""
        return [row for row, _ in self.of_kind("optimizer", action="step")]

    def stepped_between(self, begin: int, end: int) -> bool:
        """Whether an optimizer stepped after one row and before another."""
        return first_between(self.optimizer_steps, begin, end) is not None

    @cached_property
    def optimized(self) -> dict[int, int]:
        """Tensor -> row at which the first optimizer that holds it was made."""
        found: dict[int, int] = {}
        for row, event in self.of_kind("optimizer"):
            for tensor in event.data.get("parameters", {}).values():
                found.setdefault(tensor, row)
        return found

    # -- which call made a tensor's values

    def part(self, tensor: int) -> Part | None:
        """Return which entries of its memory a tensor occupies, None if unknown."""
        facts = self.tensors[tensor]
        begin, *strides = facts.layout or (0, *contiguous(facts.shape))
        return Part(begin, facts.shape, tuple(strides)) if len(strides) == len(facts.shape) else None

    def written_part(self, row: int) -> Part | None:
        """Return which entries of memory a call wrote, None if that is not known."""
        target = self.target(row)
        match self.events[row].data.get("part"):
            case [[begin], sizes, strides] if len(sizes) == len(strides):
                return Part(begin, tuple(sizes), tuple(strides))
        return None if target is None else self.part(target)

    def overwrites(self, row: int, tensor: int) -> bool:
        """Whether a call that wrote into a tensor's memory wrote entries of that tensor, as far as known."""
        written, held, target = self.written_part(row), self.part(tensor), self.target(row)
        if written is None or held is None or target is None:
            return True
        return self.tensors[target].dtype != self.tensors[tensor].dtype or shares_entries(written, held)

    def writes_into(self, tensor: int) -> Sequence[int]:
        """Return the rows of the calls that wrote into a tensor's memory."""
        storage = self.facts(tensor).storage
        return () if storage is None else self.writes_to.get(storage)

    def written_after(self, tensor: int, row: int) -> bool:
        """Whether a call wrote into a tensor's memory after a row."""
        return any(write > row for write in self.writes_into(tensor)[-1:])

    def producers(self, tensor: int, before: int, *, gradients: bool = False) -> Iterator[int]:
        """Yield the calls, before a given event, that made or wrote the values of a tensor at that time.

        With ``gradients`` only those that are part of the backward graph.
        """
        made, writes = self.producing(tensor, gradients=gradients)
        since = self.detached.before(tensor, before) if gradients else -1
        yield from made[bisect_right(made, since) : bisect_left(made, before)]
        if writes:
            yield from writes[bisect_right(writes, max(since, self.alias_since(tensor))) : bisect_left(writes, before)]

    def producing(self, tensor: int, *, gradients: bool = False) -> tuple[Sequence[int], Sequence[int]]:
        """Return the rows of the calls that made a tensor, and of those that wrote into its memory."""
        made, writes = (self._recorded_in, self._recorded_writes) if gradients else (self.made_in, self.writes_to)
        storage = self.tensors[tensor].storage
        return made.get(tensor), () if storage is None else writes.get(storage)

    def last_producer(
        self, tensor: int, before: int, wanted: Callable[[int], bool] | None = None, *, gradients: bool = False
    ) -> int | None:
        """Return the last one of the ``producers`` that is wanted."""
        detached = self.detached.before(tensor, before) if gradients else -1
        best = detached
        for rows, since in zip(
            self.producing(tensor, gradients=gradients), (-1, self.alias_since(tensor)), strict=True
        ):
            for place in range(bisect_left(rows, before) - 1, -1, -1):
                if rows[place] <= max(best, since):
                    break
                if wanted is None or wanted(rows[place]):
                    best = rows[place]
                    break
        return None if best == detached else best

    def lines(self, row: int) -> list[SourceLine]:
        """Return the user's lines on the stack during a call, innermost first."""
        return self.lines_of(self.events[row])

    @staticmethod
    def lines_of(event: Event) -> list[SourceLine]:
        """The same of the event of a call."""
        stack = [
            SourceLine(frame.get("file", ""), frame.get("line", 0), frame.get("function", ""), frame.get("inside", ""))
            for frame in event.data.get("stack", ())
        ]
        return stack or ([event.source] if event.source else [])


def held_by(event: Event) -> set[int]:
    """Return the parameters that an event's optimizer or module holds."""
    return set(event.data.get("parameters", {}).values())
