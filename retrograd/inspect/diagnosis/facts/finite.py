"""NaN and infinities in a recording: the tensors that held them after each call, and the affected passes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .flow import Flow
from .row_table import last_before
from .runs import Run


@dataclass(frozen=True, slots=True)
class State:
    """Whether a tensor holds NaN or infinities."""

    nan: bool = False
    inf: bool = False
    least: float = 0.0
    most: float = 0.0

    @property
    def bad(self) -> bool:
        """Whether it holds anything that is not finite."""
        return self.nan or self.inf

    @property
    def signs(self) -> str:
        """``-inf``, ``inf`` or ``inf and -inf``, as far as known."""
        found = ["inf"] * (self.most == math.inf) + ["-inf"] * (self.least == -math.inf)
        return " and ".join(found) or "inf"


FINITE = State()


def state_of(limits: Any) -> State:
    """Return the state that follows from ``[min, max]``."""
    if not limits or limits[0] is None or limits[1] is None:
        return FINITE
    least, most = float(limits[0]), float(limits[1])
    nan = math.isnan(least) or math.isnan(most)
    return State(nan, not nan and (math.isinf(least) or math.isinf(most)), least, most)


class Finiteness:
    """The states of all tensors in the course of a recording; only those that are not finite are kept."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.given: dict[int, dict[int, State]] = {}
        """Row -> input -> state just before the call, for calls with a bad input or result."""
        self.made: dict[int, State] = {}
        """Row -> state of what the call made or wrote, if bad."""
        self._now: dict[int, State] = {}
        for row, event in enumerate(flow.events):
            if "range" in event.data or "values" in event.data:
                self._follow(row, event.data)

    def _follow(self, row: int, data: dict[str, Any]) -> None:
        """Take in one call."""
        summaries = data.get("values", {})
        inputs = self.flow.inputs(row)
        outputs = list(data.get("outputs", ()))
        for tensor in inputs:
            summary = summaries.get(str(tensor))
            if (
                summary
                and tensor not in self._now
                and tensor not in outputs
                and (summary.get("nan") or summary.get("inf"))
            ):
                self._now[tensor] = State(bool(summary.get("nan")), bool(summary.get("inf")))
        before = {tensor: self._now[tensor] for tensor in inputs if tensor in self._now}
        states = [state_of(limits) for limits in data.get("range", ())]
        worst = next((s for s in states if s.nan), None) or next((s for s in states if s.inf), None)
        if before or worst:
            self.given[row] = before
        for tensor, state in zip(outputs, states, strict=False):
            self._note(tensor, state, write=self.flow.target(row) == tensor)
        if worst is not None:
            self.made[row] = worst

    def _note(self, tensor: int, state: State, *, write: bool) -> None:
        """Remember the state of a result, and of all that lies in the memory a call wrote."""
        for one in [tensor, *(self.flow.same_memory(tensor) if write else ())]:
            if state.bad:
                self._now[one] = state
            elif one == tensor:
                self._now.pop(one, None)


def bad_runs(flow: Flow) -> Iterator[Run]:
    """Yield the runs whose loss or whose gradients are not finite."""
    arrivals: dict[int, bool] = {}
    for _, event in flow.of_kind("accumulate"):
        norm, grad = event.data.get("grad_norm"), event.data.get("grad", {})
        bad = (norm is not None and not math.isfinite(norm)) or bool(grad.get("nan") or grad.get("inf"))
        if bad:
            arrivals[event.data.get("run", -1)] = True
    for run in flow.runs:
        if run.number in arrivals or _root_is_bad(flow, run):
            yield run


def _root_is_bad(flow: Flow, run: Run) -> bool:
    """Whether a loss was not finite when its run began."""
    for root in run.roots:
        made = last_before(flow.made_in.get(root, ()), run.begin)
        if made < 0:
            continue
        data = flow.events[made].data
        place = data["outputs"].index(root)
        limits = data.get("range", [])
        if place < len(limits) and state_of(limits[place]).bad:
            return True
    return False
