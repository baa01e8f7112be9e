"""Constants in a graph that were computed, in the same step, from what a gradient could reach: where each was cut off.

Values flow from a trained leaf to a loss on several ways, and a gradient takes fewer of them back.  Where a call of the
graph takes a tensor without history, the walk goes back through what has none to the calls at which history ended.
Values that left as plain numbers or arrays and came back unchanged are known by memory, which an array may share with
the tensor that it becomes, or by their figures: as many entries with the same ends and the same sum.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from math import isclose, isfinite, prod
from typing import Any, NamedTuple

import numpy as np

from ...operators import Trait, is_a
from ..facts.call_inputs import limits_and_sum
from ..facts.flow import Flow
from ..facts.runs import Run
from ..thresholds import REORDERED


class Departure(NamedTuple):
    """A call that took values out of the graph."""

    row: int
    tensor: int
    total: float


class RoundTrips:
    """Where plain values that enter a recording had left it."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self.of_tensor: dict[int, Departure] = {}
        """Tensor that was made of plain values -> where these had left the graph."""
        self.of_number: dict[tuple[int, float], Departure] = {}
        """(Row of a call, number that it takes) -> the same."""
        self._gone: dict[tuple[int, float, float], Departure] = {}
        for row, event in enumerate(flow.events):
            if event.kind == "backward-end" and not event.data.get("nested"):
                self._gone.clear()
            elif event.kind in ("operation", "cut", "inplace"):
                self._follow(row, event.data)

    def _follow(self, row: int, data: dict[str, Any]) -> None:
        """Handle one call: what enters, then what leaves."""
        inputs = data.get("inputs")
        if self._gone:
            for tensor, (low, high, total) in data.get("entered", {}).items():
                self._comes(int(tensor), low, high, total)
            for tensor, low, high, total in () if inputs else _results(data):
                self._comes(tensor, low, high, total)
            for number in data.get("arguments", {}).values():
                found = self._gone.get((1, number, number)) if isinstance(number, float) else None
                if found is not None:
                    self.of_number[row, number] = found
        if inputs and is_a(self._flow.events[row].op, Trait.READING):
            self._goes(row, inputs[0])

    def _goes(self, row: int, tensor: int) -> None:
        """Note what a call took out of the graph."""
        limits, total = limits_and_sum(self._flow, tensor, row)
        if limits and total is not None and _is_distinctive(*limits):
            key = _key(prod(self._flow.facts(tensor).shape), *limits)
            self._gone[key] = Departure(row, tensor, total)
            self._gone[(key[0], *limits)] = self._gone[key]  # a number has all its digits

    def _comes(self, tensor: int, low: float, high: float, total: float) -> None:
        """Look where the values of a tensor come from that no call made of others."""
        found = (
            self._gone.get(_key(prod(self._flow.facts(tensor).shape), low, high))
            if _is_distinctive(low, high)
            else None
        )
        most = REORDERED * max(abs(low), abs(high))
        if found is not None and isclose(found.total, total, rel_tol=REORDERED, abs_tol=most):
            self.of_tensor.setdefault(tensor, found)


def _results(data: dict[str, Any]) -> Iterator[tuple[int, float, float, float]]:
    """Yield the results of a call with their figures, where they are known."""
    figures = zip(data.get("outputs", ()), data.get("range", ()), data.get("checksum", ()), strict=False)
    for tensor, limits, total in figures:
        if limits and limits[0] is not None and total is not None:
            yield tensor, limits[0], limits[1], total


def _key(size: int, low: float, high: float) -> tuple[int, float, float]:
    """Return a key that is equal for values in either precision."""
    return size, float(np.float32(low)), float(np.float32(high))


def _is_distinctive(low: float, high: float) -> bool:
    """Whether one of two bounds identifies values: masks have 0 and 1, and written constants few digits."""
    return isfinite(low) and isfinite(high) and (is_computed(low) or is_computed(high))


def is_computed(number: float) -> bool:
    """Whether a number has more digits than people write."""
    return isfinite(number) and float(f"{number:.5g}") != number


class Cut(NamedTuple):
    """A path of values without gradients."""

    taker: int
    """The call of the graph that takes the constant."""
    operand: int | None
    """The constant, None for a plain number."""
    row: int
    """The call at which history ended."""
    given: int
    """What it took that had one."""
    came_back: bool
    """Whether the values left the graph as plain numbers or arrays, or became a new leaf, in between."""


class Constants:
    """The cuts of a recording."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._trips = RoundTrips(flow)
        self._starts = sorted(
            [run.end for run in flow.runs if run.accumulates and not run.nested]
            + [row for row, _ in flow.of_kind("optimizer", action="made")]
        )

    def since(self, run: Run) -> int:
        """Return the row after which the step of a run began: what was computed before is a constant by right."""
        place = bisect_left(self._starts, run.begin)
        return self._starts[place - 1] if place else -1

    def in_each_step(self, rows: Sequence[int], wanted: int) -> list[int]:
        """Return those events with a counterpart in each step of the same number of events."""
        steps: dict[int, list[int]] = {}
        for row in rows:
            steps.setdefault(bisect_left(self._starts, row), []).append(row)
        mine = steps.get(bisect_left(self._starts, wanted), [])
        place = mine.index(wanted) if wanted in mine else len(mine)
        return [step[place] for step in steps.values() if place < len(step) == len(mine)]

    def cuts(self, run: Run) -> Iterator[Cut]:
        """Yield the cuts behind the roots of a run."""
        flow, since, seen = self._flow, self.since(run), dict[int, Cut | None]()
        for row in sorted(flow.reached_by(run).calls):
            if row <= since:
                continue
            for given in flow.inputs(row):
                if self._is_part(given, row):
                    continue
                if given not in seen:
                    seen[given] = self._cut(row, given, since)
                found = seen[given]
                if found is not None:
                    yield found._replace(taker=row)
            for number in (flow.events[row].data.get("arguments") or {}).values():
                left = self._trips.of_number.get((row, number)) if isinstance(number, float) else None
                if left is not None and left.row > since and self._is_known(left.tensor, left.row):
                    yield Cut(row, None, left.row, left.tensor, came_back=True)

    def _cut(self, taker: int, operand: int, since: int) -> Cut | None:
        """Return the nearest call at which an operand without history lost it."""
        todo, seen = [(operand, taker, False)], {operand}
        while todo:
            tensor, before, back = todo.pop()
            left = self._departure(tensor)
            if left is not None and since < left.row <= before:
                if self._is_known(left.tensor, left.row):
                    return Cut(taker, operand, left.row, left.tensor, came_back=True)
                todo.append((left.tensor, left.row, True))
            for row in self._makers(tensor, before, since):
                taken = self._operands(row, tensor)
                known = next((one for one in taken if self._is_known(one, row)), None)
                fresh = back or self._is_new_leaf(tensor)
                if known is not None:
                    viewed = not self._flow.events[row].data.get("reason") and self._flow.events[before].kind == "cut"
                    return Cut(taker, operand, before if viewed else row, known, came_back=fresh)
                for given in taken:
                    if given not in seen:
                        seen.add(given)
                        todo.append((given, row, fresh))
        return None

    def _is_new_leaf(self, tensor: int) -> bool:
        """Whether a tensor is a leaf to train, and no view of one that was made where no gradients are recorded."""
        flow = self._flow
        return flow.is_leaf(tensor) and flow.requires_grad(tensor) and flow.facts(tensor).view_of is None

    def _departure(self, tensor: int) -> Departure | None:
        """Return where the values of a tensor that no call made of others had left the graph."""
        flow = self._flow
        left = self._trips.of_tensor.get(tensor)
        if left is not None or flow.made_in.get(tensor) or flow.facts(tensor).made_by is not None:
            return left
        if not self._is_new_leaf(tensor):
            return None
        # A leaf in memory that a result had before: `Variable(result.data)`.
        first = min(flow.used_in.get(tensor, (0,)))
        for other in reversed(flow.same_memory(tensor)):
            made = [row for row in flow.made_in.get(other, ()) if row < first]
            if other < tensor and made and not flow.has_history(other, first):
                return Departure(made[-1] + 1, other, 0.0)
        return None

    def _makers(self, tensor: int, before: int, since: int) -> list[int]:
        """Return the calls of the step that made the values of a tensor without history; none writes into a leaf."""
        made, writes = self._flow.producing(tensor)
        rows = list(made[bisect_right(made, since) : bisect_left(made, before)])
        if self._flow.requires_grad(tensor):
            rows = [row for row in rows if self._flow.target(row) is None]
        else:
            begin = max(since, self._flow.alias_since(tensor))
            rows += writes[bisect_right(writes, begin) : bisect_left(writes, before)]
        return [row for row in rows if not self._flow.has_node(row) and not self._hands_back(row, tensor)]

    def _hands_back(self, row: int, tensor: int) -> bool:
        """Whether a call returned a tensor as it is, as one that has nothing to expand does."""
        data = self._flow.events[row].data
        same = tensor in data.get("inputs", ()) and data.get("reason") != "detach"
        return same and self._flow.target(row) is None

    def _operands(self, row: int, result: int) -> list[int]:
        """Return what a result was computed from; if a call has as many results as operands, the corresponding one."""
        given, made = list(self._flow.inputs(row)), self._flow.events[row].data.get("outputs", [])
        paired = len(given) == len(made) > 1 and result in made
        return [given[made.index(result)]] if paired else given

    def _is_part(self, tensor: int, row: int) -> bool:
        """Whether gradients can continue into an operand: it has a history, if only a hidden one, or is a leaf."""
        flow = self._flow
        return flow.has_history(tensor, row) or (flow.requires_grad(tensor, row) and not self._is_new_leaf(tensor))

    def _is_known(self, tensor: int, row: int) -> bool:
        """Whether a tensor has a history, or is a leaf that requires a gradient."""
        flow = self._flow
        return flow.has_history(tensor, row) or (flow.requires_grad(tensor, row) and flow.is_leaf(tensor))
