"""``Flow``: one recording as a graph of tensors and calls, which checks ask their questions of.

Two graphs are laid over one another: where the *values* went, cuts included, and where *gradients* can go, which is
only through calls that made a node.  Nothing here recurses, and a walk visits each call once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from heapq import heapify, heappop, heappush

from ...findings import Mark
from ...graphs.graph import Graph
from ...program.places import SourceLine
from ...recording.events import Event
from ..text.spelling import Spelling, argument, receiver
from .calls import CALLS, CallTable
from .ledger import Ledger
from .row_table import Reached
from .runs import Run

_KEPT_WALKS = 16
"""Walks through all values behind a run that are kept: each may be as long as the recording."""


class Flow(CallTable):
    """One recording, indexed: which calls made, used, wrote and cut each tensor, and what each pass reached."""

    @cached_property
    def spelling(self) -> Spelling:
        """The texts of tensors in the program."""
        return Spelling(self.recording)

    def name(self, tensor: int, line: SourceLine | None = None) -> str:
        """Return a tensor's name for a sentence, preferably its spelling in the function that contains a line."""
        return self.spelling.name(tensor, line.function if line else None)

    def operand_name(self, tensor: int, row: int) -> str:
        """Return how the line of a call spells an operand, else its name."""
        return self.written_names(row).get(tensor) or self.name(tensor, self.events[row].source)

    @cached_property
    def answers(self) -> dict[tuple[object, ...], object]:
        """Cached answers (``answered_once``)."""
        return {}

    # -- walks

    def behind(
        self,
        roots: Iterable[int],
        before: int,
        *,
        gradients: bool = True,
        follow: Callable[[int], bool] | None = None,
    ) -> Reached:
        """Return everything that tensors depended on just before a row.

        With ``gradients`` only what a gradient can reach, otherwise every value, through cuts as well, and through
        the call that made a leaf which was to require grad later; calls that write into a leaf are not followed then,
        for they belong to another step.  ``follow`` returns whether the walk goes on to what a call was given.
        """
        return self._back_from(((before, root) for root in roots), gradients=gradients, follow=follow)

    @cached_property
    def behind_losses(self) -> Reached:
        """Everything on which the values at the start of any backward pass depend, as in ``behind``."""
        return self._back_from(((run.begin, root) for run in self.runs for root in run.roots), gradients=False)

    def leading_to(self, goals: Iterable[int]) -> set[int]:
        """Return every tensor from which ``path_to`` finds a path to one of these."""
        end = len(self.events)
        return self._back_from(((end, goal) for goal in goals), gradients=False, by_calls_alone=True).tensors

    def _back_from(
        self,
        starts: Iterable[tuple[int, int]],
        *,
        gradients: bool,
        by_calls_alone: bool = False,
        follow: Callable[[int], bool] | None = None,
    ) -> Reached:
        """Walk from tensors, each as it was just before a given event, back to what they were computed from.

        ``by_calls_alone``: into leaves as well, and not from a view to its base, as ``path_to`` walks.
        """
        found = Reached()
        todo = [(-before, tensor) for before, tensor in starts]
        heapify(todo)
        storages: dict[int, int] = {}
        while todo:  # latest first: a tensor is met at the latest time that counts, and what lies in memory once
            limit, tensor = heappop(todo)
            if tensor in found.tensors:
                continue
            found.tensors.add(tensor)
            rows: Iterable[int] = self._fresh_producers(tensor, -limit, storages, gradients=gradients)
            if not by_calls_alone:
                base = self.tensors[tensor].view_of
                if not gradients and self.requires_grad(tensor) and self.is_leaf(tensor):
                    rows = [row for row in self._computed_by(tensor) if row < -limit]
                elif base is not None and not self.tensors[tensor].leaf and not self.made_in.get(tensor):
                    heappush(todo, (limit, base))  # a view that no recorded call made
            for row in rows:
                if row not in found.calls:
                    found.calls.add(row)
                    for given in self.inputs(row) if follow is None or follow(row) else ():
                        heappush(todo, (-row, given))
        return found

    def _fresh_producers(self, tensor: int, before: int, storages: dict[int, int], *, gradients: bool) -> Iterator[int]:
        """Yield the ``producers`` of a tensor, but each write into memory only for the first tensor there.

        ``storages`` has the row down to which the writes into each memory were yielded.
        """
        storage = self.tensors[tensor].storage
        made, writes = self.producing(tensor, gradients=gradients)
        detached = self.detached.before(tensor, before) if gradients else -1
        yield from made[bisect_right(made, detached) : bisect_left(made, before)]
        if storage is not None and writes:
            since, known = max(detached, self.alias_since(tensor)), storages.get(storage, before)
            storages[storage] = min(since, known)
            yield from writes[bisect_right(writes, since) : bisect_left(writes, min(before, known + 1))]

    def _computed_by(self, leaf: int) -> list[int]:
        """Return the call whose result a leaf is, if it required grad only later: ``h.detach().requires_grad_()``."""
        made = self.tensors[leaf].made_by
        later = made is not None and any(on and row > made for row, on in self._switched.get(leaf, ()))
        return [made] if made is not None and later else []

    def leaf_itself(self, leaf: int) -> int:
        """Return the leaf of which one is a view, made where no gradients are recorded; else the one."""
        base = self.facts(leaf).view_of
        return base if base is not None and self.trainable([base, leaf]) == {base, leaf} else leaf

    def leaves_behind(self, found: Reached) -> set[int]:
        """Return the trainable leaves among the tensors of a walk."""
        return self.trainable(found.tensors)

    def path_to(self, start: int, goals: set[int], *, after: int = -1, before: int | None = None) -> list[int] | None:
        """Return the rows of a shortest chain of calls by which the values of ``start`` reached one of ``goals``."""
        end = len(self.events) if before is None else before
        came_from: dict[int, int | None] = {}
        asked: dict[tuple[int, int], int] = {}
        level: list[tuple[int, int, int | None]] = [(start, after, None)] if goals else []
        while level:
            following: list[tuple[int, int, int | None]] = []
            for tensor, since, call in level:
                users = self.used_in.get(tensor, [])
                cut = self.detached.after(tensor, since)  # in place: from there on the path goes through that call
                until = end if cut is None else min(end, cut + 1)
                upto = min(until, asked.get((tensor, until), until))
                asked[tensor, until] = min(since + 1, upto)
                for row in users[bisect_right(users, since) : bisect_left(users, upto)]:
                    if row in came_from or (tensor == start and self.target(row) == start):  # its initialisation
                        continue
                    came_from[row] = call
                    reached = self.outputs(row) or (self.inputs(row) if row == cut else [])
                    if goals.intersection(reached):
                        return _way(came_from, row)
                    following.extend((given, row, row) for given in reached)
            level = following
        return None

    def descendants(
        self, starts: Iterable[int], after: int = -1, follow: Callable[[int], bool] | None = None
    ) -> Reached:
        """Return every tensor that the values of ``starts`` reached after an event, and the calls in between.

        ``follow`` returns whether a call's results are followed.
        """
        found = Reached()
        storages: set[int] = set()
        todo = [(after, start) for start in starts]
        heapify(todo)
        while todo:  # earliest first: a tensor is met at the earliest time that counts
            since, tensor = heappop(todo)
            if tensor in found.tensors:
                continue
            found.tensors.add(tensor)
            users = self.used_in.get(tensor, [])
            for row in users[bisect_right(users, since) :]:
                if row in found.calls:
                    continue
                found.calls.add(row)
                if follow is None or follow(row):
                    for given in self._fresh_outputs(row, storages):
                        heappush(todo, (row, given))
        return found

    def _fresh_outputs(self, row: int, storages: set[int]) -> Iterable[int]:
        """Return the ``outputs`` of a call, but other tensors in memory that it wrote only for the first write."""
        target = self.target(row)
        storage = None if target is None else self.tensors[target].storage
        if storage is None or storage not in storages:
            if storage is not None:
                storages.add(storage)
            return self.outputs(row)
        found: list[int] = self.events[row].data.get("outputs", [])
        return found

    # -- backward

    @cached_property
    def ledger(self) -> Ledger:
        """The gradients of each leaf, and how they were used."""
        return Ledger(self, self.accumulated)

    def reached_by(self, run: Run) -> Reached:
        """Return what the gradients of a pass could reach; cached."""
        found = self._reached.get(run.begin)
        if found is None:
            found = self._reached[run.begin] = self.behind(run.roots, run.begin)
        return found

    def values_behind(self, run: Run) -> Reached:
        """Return everything whose values a run's roots were made of; those of the latest runs asked for are kept."""
        kept = self._values_behind
        found = kept.pop(run.begin, None) or self.behind(run.roots, run.begin, gradients=False)
        kept[run.begin] = found
        if len(kept) > _KEPT_WALKS:
            del kept[next(iter(kept))]
        return found

    @cached_property
    def _values_behind(self) -> dict[int, Reached]:
        """Start of a pass -> what its roots were computed from, the most recently requested pass last."""
        return {}

    @cached_property
    def _reached(self) -> dict[int, Reached]:
        """Start of a pass -> what it reached."""
        return {}

    @cached_property
    def runs_from(self) -> dict[int, list[Run]]:
        """Tensor -> the runs that started from it, in order."""
        found: dict[int, list[Run]] = defaultdict(list)
        for run in self.runs:
            for root in run.roots:
                found[root].append(run)
        return found

    @cached_property
    def accumulated(self) -> dict[int, list[int]]:
        """Leaf -> rows at which a gradient arrived in its ``.grad``."""
        found: dict[int, list[int]] = defaultdict(list)
        for row, event in self.of_kind("accumulate"):
            if event.data.get("tensor") is not None:
                found[event.data["tensor"]].append(row)
        return found

    @cached_property
    def _arrivals(self) -> dict[int, dict[int, list[int]]]:
        found: dict[int, dict[int, list[int]]] = defaultdict(dict)
        for row, event in self.of_kind("accumulate"):
            if "tensor" in event.data and "run" in event.data:
                found[event.data["run"]].setdefault(event.data["tensor"], []).append(row)
        return found

    def arrival_rows(self, run: Run) -> dict[int, list[int]]:
        """Return leaf -> events at which gradients arrived there in a pass."""
        return self._arrivals.get(run.number, {})

    def arrivals_in(self, run: Run) -> dict[int, list[Event]]:
        """Return leaf -> gradients that arrived there in a pass, in order."""
        return {leaf: [self.events[row] for row in rows] for leaf, rows in self.arrival_rows(run).items()}

    def norms_in(self, run: Run) -> dict[int, list[float | None]]:
        """Return leaf -> norms of the gradients that arrived there in a pass, in order."""
        arrivals = self.arrivals_in(run).items()
        return {leaf: [event.data.get("grad_norm") for event in events] for leaf, events in arrivals}

    @cached_property
    def norms_of(self) -> dict[int, list[list[float | None]]]:
        """Leaf -> norms of the gradients that arrived there, by pass, in order."""
        found: dict[int, list[list[float | None]]] = defaultdict(list)
        for run in self.runs:
            for leaf, norms in self.norms_in(run).items():
                found[leaf].append(norms)
        return found

    @cached_property
    def largest_norm(self) -> dict[int, float]:
        """Leaf -> the largest norm of a gradient that arrived there, as far as known."""
        found: dict[int, float] = defaultdict(float)
        for _, event in self.of_kind("accumulate"):
            leaf, norm = event.data.get("tensor", -1), event.data.get("grad_norm")
            if norm is not None and norm > found[leaf]:
                found[leaf] = norm
        for _, event in self.of_kind("summary"):  # steps of which nothing else is kept
            for leaf, figures in event.data.get("norms", {}).items():
                found[int(leaf)] = max(found[int(leaf)], figures[2])
        return found

    @cached_property
    def reentrant_blocks(self) -> list[Event]:
        """What reentrant checkpoints computed without gradients, in order, without nested blocks."""
        found: list[Event] = []
        for _, event in self.of_kind("checkpoint", action="reentrant"):
            if "end" in event.data and not (found and event.data["first"] < found[-1].data["end"]):
                found.append(event)
        return found

    @cached_property
    def runs_asking(self) -> dict[int, list[Run]]:
        """Tensor -> the runs that were asked for its gradient by name."""
        found: dict[int, list[Run]] = defaultdict(list)
        for run in self.runs:
            for tensor in run.inputs:
                found[tensor].append(run)
        return found

    @cached_property
    def got_gradient(self) -> set[int]:
        """Tensors that got a gradient: in ``.grad``, asked for by ``autograd.grad`` and reached, or in a nested run.

        Of a root that no recorded call made, as one that ``torch.func`` unwraps, nobody knows what it reaches.
        """
        found = self.ledger.given_by_hand | set(self.accumulated)
        for run in self.runs:
            if run.nested and run.accumulates and not run.inputs and not run.error:  # a checkpoint's own
                found |= self.leaves_behind(self.reached_by(run))
            if run.inputs and not run.error:
                known = all(self.is_leaf(root) or any(self.producing(root, gradients=True)) for root in run.roots)
                found.update(self.reached_by(run).tensors.intersection(run.inputs) if known else run.inputs)
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
        """Return the name of a pass's root, as the line that called backward spells it."""
        if run is None or not run.roots:
            return "the loss"
        if not self.spelling.has_name(run.roots[0]):
            line, asking = self.spelling.text(run.source), ("grad", "backward")
            return receiver(line, "backward") or argument(line, asking.__contains__) or "the loss"
        return self.name(run.roots[0], run.source)

    def run_after(self, row: int) -> Run | None:
        """Return the first run that began after a row."""
        place = bisect_right(self.runs, row, key=lambda run: run.begin)
        return self.runs[place] if place < len(self.runs) else None

    def call_of_node(self, number: int | None) -> int | None:
        """Return the row of the call that made the node with this sequence number."""
        if number is None:
            return None
        firsts, rows = self._by_node
        place = bisect_right(firsts, number) - 1
        return rows[place] if place >= 0 and number in self.nodes(rows[place]) else None

    @cached_property
    def _by_node(self) -> tuple[list[int], list[int]]:
        """The first node of each call that made some, in order, and the rows of these calls."""
        made = sorted([(self.nodes(row).start, row) for row in self._node_rows])
        return [first for first, _ in made], [row for _, row in made]

    def graph_of(self, run: Run) -> Graph:
        """Return the graph that a run went through, of a run of which one was kept."""
        if run.snapshot is None:
            raise ValueError(f"no graph of backward pass {run.number} was recorded")
        return self.recording.graphs[run.snapshot]

    def marks(self, run: Run | None, rows: Iterable[int], text: str = "", ghost: str = "") -> tuple[Mark, ...]:
        """Return marks for the nodes that calls made, in the graph of a run."""
        if run is None or run.snapshot is None:
            return ()
        places = run.places(self.graph_of(run))
        found = []
        for row in rows:
            found += [Mark(run.snapshot, places[one], text, ghost) for one in self.nodes(row) if one in places]
        return tuple(found)


def _way(came_from: dict[int, int | None], row: int | None) -> list[int]:
    """Return the chain that ends in a row, first call first."""
    way = []
    while row is not None:
        way.append(row)
        row = came_from[row]
    return way[::-1]
