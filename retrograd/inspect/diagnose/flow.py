"""``Flow``: one recording as a graph of tensors and calls, which checks ask their questions of.

A *call* is an event that computes (``CALLS``); its row is its place in the recording and therefore a time.  Two
graphs are laid over one another: where the *values* went, cuts included, and where *gradients* can go, which is
only through calls that made a node.  Nothing here recurses, and a walk visits each call once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from ..events import Event, Recording
from ..findings import Mark
from ..snapshot import SourceLine
from ..tensors import TensorFacts
from .runs import Run, runs_of
from .spelling import Spelling

CALLS = frozenset({"operation", "inplace", "cut", "function"})
"""Kinds of events whose inputs and outputs are tensors."""


class Flow:
    """One recording, indexed: who made, used, wrote and cut each tensor, and what each backward run reached."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.events = recording.events
        self.tensors = recording.tensors
        self.runs: list[Run] = runs_of(recording)
        """Backward runs, in order; nested ones included."""
        self.made_in: dict[int, list[int]] = defaultdict(list)
        """Tensor -> rows of the calls that returned it."""
        self.used_in: dict[int, list[int]] = defaultdict(list)
        """Tensor -> rows of the calls that took it as an argument."""
        self.writes_to: dict[int, list[int]] = defaultdict(list)
        """Storage -> rows of the calls that wrote into it."""
        self.sharing: dict[int, list[int]] = defaultdict(list)
        """Storage -> tensors that lie in it."""
        self._node_rows: list[tuple[int, int, int]] = []
        self._index()

    def _index(self) -> None:
        for tensor, facts in enumerate(self.tensors):
            if facts.storage is not None:
                self.sharing[facts.storage].append(tensor)
        for row, event in enumerate(self.events):
            if event.kind in CALLS and event.data.get("action", "forward") == "forward":
                self._index_call(row, event)

    def _index_call(self, row: int, event: Event) -> None:
        for tensor in self.inputs(row):
            self.used_in[tensor].append(row)
        for tensor in dict.fromkeys(event.data.get("outputs", ())):
            self.made_in[tensor].append(row)
        target = self.target(row)
        if target is not None and self.tensors[target].storage is not None:
            self.writes_to[self.tensors[target].storage].append(row)  # type: ignore[index]
        nodes = event.data.get("nodes")
        if nodes:
            self._node_rows.append((nodes[0], nodes[1], row))
        elif event.data.get("node") is not None:
            self._node_rows.append((event.data["node"], event.data["node"] + 1, row))

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
        for row in self.rows.get(kind, ()):
            event = self.events[row]
            if all(event.data.get(key) == value for key, value in data.items()):
                yield row, event

    @cached_property
    def error(self) -> Event | None:
        """What ended the program, if an exception did."""
        return next((self.events[row] for row in reversed(self.rows.get("error", []))), None)

    @property
    def error_text(self) -> str:
        """Its message."""
        return str(self.error.data.get("message", "")) if self.error else ""

    @cached_property
    def spelling(self) -> Spelling:
        """How the program spells its tensors."""
        return Spelling(self.recording)

    def name(self, tensor: int, function: str | None = None) -> str:
        """Return what to call a tensor in a sentence, best as it is spelled in ``function``."""
        return self.spelling.name(tensor, function)

    # -- one call

    def inputs(self, row: int) -> list[int]:
        """Return the tensors that a call took; one that writes also reads what it writes into."""
        event = self.events[row]
        found = list(dict.fromkeys(event.data.get("inputs", ())))
        if _is_gradient(event):  # computed from all that the run went through
            run = next((one for one in reversed(self.runs) if one.end < row), None)
            found += [root for root in (run.roots if run else ()) if root not in found]
        target = self.target(row)
        return found if target is None or target in found else [target, *found]

    def outputs(self, row: int) -> list[int]:
        """Return the tensors whose values a call determined: its results, and all that lies in memory it wrote."""
        found = list(self.events[row].data.get("outputs", ()))
        target = self.target(row)
        if target is not None:
            found += [target, *self.same_memory(target)]
        return list(dict.fromkeys(found))

    def target(self, row: int) -> int | None:
        """Return the tensor that a call wrote into."""
        event = self.events[row]
        return event.data.get("target") if event.kind in ("inplace", "cut") else None

    def has_node(self, row: int) -> bool:
        """Whether a call is part of the backward graph."""
        event = self.events[row]
        return bool(event.data.get("nodes")) or event.data.get("node") is not None or _is_gradient(event)

    def is_leaf(self, tensor: int) -> bool:
        """Whether no recorded call gave this tensor a history."""
        return self.tensors[tensor].leaf and not any(self.has_node(row) for row in self.made_in.get(tensor, ()))

    def has_history(self, tensor: int, row: int | None = None) -> bool:
        """Whether a tensor has a history (before a row, when one is given)."""
        return any(self.has_node(made) for made in self.producers(tensor, len(self.events) if row is None else row))

    def same_memory(self, tensor: int) -> list[int]:
        """Return the other tensors that lie in the same memory."""
        storage = self.tensors[tensor].storage
        return [] if storage is None else [other for other in self.sharing[storage] if other != tensor]

    def facts(self, tensor: int) -> TensorFacts:
        """Return what the recording knows of a tensor."""
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
        before = [value for at, value in switched if at < row]
        return before[-1] if before else self.tensors[tensor].requires_grad

    def switched_off(self, tensor: int, before: int) -> int | None:
        """Return the row at which ``requires_grad`` of a tensor was switched off, if it still was before a row."""
        switched = [(row, value) for row, value in self._switched.get(tensor, []) if row < before]
        return switched[-1][0] if switched and not switched[-1][1] else None

    # -- walks

    def producers(self, tensor: int, before: int) -> Iterator[int]:
        """Yield the rows, before a given one, of the calls that made or wrote what a tensor then held."""
        made = self.made_in.get(tensor, [])
        yield from made[: bisect_left(made, before)]
        storage = self.tensors[tensor].storage
        if storage is not None:
            writes = self.writes_to.get(storage, [])
            yield from writes[: bisect_left(writes, before)]

    def behind(self, roots: Iterable[int], before: int, *, gradients: bool = True) -> Behind:
        """Return everything that tensors depended on just before a row.

        With ``gradients`` only what a gradient can reach, otherwise every value, through cuts as well; calls that
        write into a leaf are not followed then, for they belong to another step.
        """
        found = Behind()
        todo = [(tensor, before) for tensor in roots]
        asked: dict[int, int] = {}
        while todo:
            tensor, limit = todo.pop()
            if asked.get(tensor, -1) >= limit:
                continue
            asked[tensor] = limit
            found.tensors.add(tensor)
            if not gradients and self.requires_grad(tensor) and self.is_leaf(tensor):
                continue
            base = self.tensors[tensor].view_of
            if base is not None and not self.tensors[tensor].leaf and not self.made_in.get(tensor):
                todo.append((base, limit))  # a view that no recorded call made
            for row in self.producers(tensor, limit):
                if row not in found.calls and (not gradients or self.has_node(row)):
                    found.calls.add(row)
                    todo.extend((given, row) for given in self.inputs(row))
        return found

    def leaves_behind(self, found: Behind) -> set[int]:
        """Return the leaves that require grad among the tensors of a walk."""
        return {t for t in found.tensors if self.requires_grad(t) and self.is_leaf(t)}

    def path_to(self, start: int, goals: set[int], *, after: int = -1, before: int | None = None) -> list[int] | None:
        """Return the rows of a shortest chain of calls by which the values of ``start`` reached one of ``goals``."""
        end = len(self.events) if before is None else before
        came_from: dict[int, int | None] = {}
        level: list[tuple[int, int, int | None]] = [(start, after, None)]
        while level:
            following: list[tuple[int, int, int | None]] = []
            for tensor, since, call in level:
                for row in self.used_in.get(tensor, ()):
                    if not since < row < end or row in came_from:
                        continue
                    came_from[row] = call
                    reached = self.outputs(row)
                    if goals.intersection(reached):
                        return _way(came_from, row)
                    following.extend((given, row, row) for given in reached)
            level = following
        return None

    def descendants(self, start: int) -> set[int]:
        """Return every tensor that the values of ``start`` reached."""
        seen, calls, todo = {start}, set(), [(start, -1)]
        while todo:
            tensor, since = todo.pop()
            for row in self.used_in.get(tensor, ()):
                if row > since and row not in calls:
                    calls.add(row)
                    seen.update(self.outputs(row))
                    todo.extend((given, row) for given in self.outputs(row))
        return seen

    # -- backward

    def reached_by(self, run: Run) -> Behind:
        """Return what a run's gradients could reach, worked out once."""
        if run.reached is None:
            run.reached = self.behind(run.roots, run.begin)
        return run.reached

    @cached_property
    def accumulated(self) -> dict[int, list[int]]:
        """Leaf -> rows at which a gradient arrived in its ``.grad``."""
        found: dict[int, list[int]] = defaultdict(list)
        for row, event in self.of_kind("accumulate"):
            if event.data.get("tensor") is not None:
                found[event.data["tensor"]].append(row)
        return found

    @cached_property
    def got_gradient(self) -> set[int]:
        """Tensors that got a gradient: in ``.grad``, asked for by ``autograd.grad`` and reached, or in a nested run."""
        found = set(self.accumulated)
        found.update(event.data.get("tensor", -1) for _, event in self.of_kind("leaf", change="grad-set"))  # by hand
        for run in self.runs:
            if run.nested and run.accumulates and not run.inputs and not run.error:  # a checkpoint's own
                found |= self.leaves_behind(self.reached_by(run))
            if run.inputs and not run.error:
                found |= self.reached_by(run).tensors.intersection(run.inputs)
        return found

    @cached_property
    def _by_place(self) -> dict[tuple[SourceLine | None, str], list[int]]:
        found: dict[tuple[SourceLine | None, str], list[int]] = defaultdict(list)
        for row, event in enumerate(self.events):
            if event.kind in CALLS:
                found[event.source, event.op].append(row)
        return found

    def made_at(self, source: SourceLine | None, op: str) -> list[int]:
        """Return the rows of all calls of an operator from one line."""
        return self._by_place.get((source, op), [])

    def root_name(self, run: Run | None) -> str:
        """Return what to call the tensor that a run starts from, as the line spells it that called backward."""
        if run is None or not run.roots:
            return "the loss"
        return self.name(run.roots[0], run.source.function if run.source else None)

    def run_after(self, row: int) -> Run | None:
        """Return the first run that began after a row."""
        return next((run for run in self.runs if run.begin > row), None)

    def call_of_node(self, number: int | None) -> int | None:
        """Return the row of the call that made the node with this sequence number."""
        if number is None:
            return None
        place = bisect_right(self._ranges, (number, len(self.events), 0)) - 1
        if place < 0:
            return None
        first, end, row = self._ranges[place]
        return row if first <= number < end else None

    @cached_property
    def _ranges(self) -> list[tuple[int, int, int]]:
        return sorted(self._node_rows)

    def marks(self, run: Run | None, rows: Iterable[int], text: str = "", ghost: str = "") -> tuple[Mark, ...]:
        """Return marks for the nodes that calls made, in the graph of a run."""
        if run is None or run.snapshot is None:
            return ()
        places = run.places(self.recording.snapshots[run.snapshot])
        found = []
        for row in rows:
            data = self.events[row].data
            numbers = range(*data["nodes"]) if data.get("nodes") else [data.get("node")]
            found += [Mark(run.snapshot, places[number], text, ghost) for number in numbers if number in places]
        return tuple(found)

    # -- lines

    def line_in(self, row: int, function: str) -> SourceLine | None:
        """Return where a function of the user stood during a call, if it was on the stack."""
        return next((line for line in self.lines(row) if line.function == function), None)

    def lines(self, row: int) -> list[SourceLine]:
        """Return the user's lines on the stack during a call, innermost first."""
        event = self.events[row]
        stack = [
            SourceLine(frame.get("file", ""), frame.get("line", 0), frame.get("function", ""))
            for frame in event.data.get("stack", ())
        ]
        return stack or ([event.source] if event.source else [])


class Behind:
    """What a walk found: calls by row, and tensors."""

    __slots__ = ("calls", "tensors")

    def __init__(self) -> None:
        self.calls: set[int] = set()
        self.tensors: set[int] = set()


def _is_gradient(event: Event) -> bool:
    """Whether a call was ``autograd.grad`` with ``create_graph``, whose results have a history of their own."""
    return event.kind == "operation" and event.op == "grad"


def _way(came_from: dict[int, int | None], row: int | None) -> list[int]:
    """Return the chain that ends in a row, first call first."""
    way = []
    while row is not None:
        way.append(row)
        row = came_from[row]
    return way[::-1]
