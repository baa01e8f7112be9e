"""Modules that are trained in the mode of evaluation: since one took place, or from the beginning."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ...operators import Trait
from ...recording.events import Event
from ..base import Case, Check, Kind, Stage
from ..facts.call_inputs import limits_of
from ..facts.flow import Flow
from ..facts.ledger import Step
from ..text.words import at, counted, listed
from ..thresholds import HABIT

KINDS = {
    "left-in-evaluation": Kind("a module is trained in the mode that an evaluation left it in", "error", Stage.OMISSION)
}


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that switches a module to evaluation, after which it is trained on in that mode.

    It was trained in its own mode before, and was evaluated since: who only wants to keep running statistics does
    neither.
    """
    modes = _Modes(flow)
    reported = set()
    for row, event in flow.of_kind("mode", value=False):
        if event.source in reported:
            continue
        leaves = [leaf for leaf in event.data.get("inputs", ()) if leaf in flow.accumulated]
        modules = event.data.get("modules", [])
        later = [step for step in modes.steps(leaves, row, modes.on_again(modules, row)) if step.row > row]
        if len(later) < HABIT:
            continue
        if modes.trained_before(leaves, modules, row):
            statistics, wrong = None, _evaluated(flow, leaves, row, later)
        else:
            statistics = _empty_statistics(flow, leaves, row)
            wrong = statistics is not None and not modes.steps(leaves, -1, row) and _holds_all(flow, event)
        if wrong:
            reported.add(event.source)
            yield _case(flow, event, later, statistics)


CHECK = Check("mode", KINDS, find)


@dataclass
class _Modes:
    """The modes of all modules that were ever switched."""

    flow: Flow

    @cached_property
    def _switches(self) -> dict[int, list[tuple[int, bool]]]:
        """Number of a module -> (row, whether it is to train) of each switch, in order."""
        found: dict[int, list[tuple[int, bool]]] = defaultdict(list)
        for row, event in self.flow.of_kind("mode"):
            for module in event.data.get("modules", ()):
                found[module].append((row, bool(event.data.get("value"))))
        return found

    def on_again(self, modules: list[int], after: int) -> int:
        """Return the row at which the first of these modules is switched back to training."""
        rows = [row for module in modules for row, on in self._switches[module] if on and row > after]
        return min(rows, default=len(self.flow.events))

    def _trains(self, module: int, row: int) -> bool:
        """Whether a module was in training mode at a row."""
        before = [on for at, on in self._switches[module] if at < row]
        return before[-1] if before else not self._switches[module][0][1]

    def steps(self, leaves: list[int], after: int, before: int) -> list[Step]:
        """Return the steps that use gradients of passes between two rows."""
        found = {}
        for leaf in leaves[:1]:
            for step in self.flow.ledger.steps_of[leaf]:
                if any(after < row < before for row in self.flow.ledger.fresh(step, leaf)):
                    found[step.row] = step
        return list(found.values())

    def trained_before(self, leaves: list[int], modules: list[int], row: int) -> bool:
        """Whether a step before a row used a gradient of these modules in training mode."""
        return any(self._trains(module, step.row) for step in self.steps(leaves, -1, row) for module in modules)


def _evaluated(flow: Flow, leaves: list[int], row: int, later: list[Step]) -> bool:
    """Whether a parameter was used without a graph between the switch and the next pass that trains it."""
    end = later[0].row
    uses = (use for leaf in leaves for use in flow.used_in.get(leaf, ()) if row < use < end)
    return any(not flow.has_node(use) for use in uses)


def _holds_all(flow: Flow, event: Event) -> bool:
    """Whether a switched module has all that is trained, as no layer does that alone is to stay as it is."""
    return set(event.data.get("inputs", ())) >= flow.optimized.keys() & flow.accumulated.keys()


def _empty_statistics(flow: Flow, leaves: list[int], after: int) -> int | None:
    """Return the first call next to these leaves that normalises with initial running statistics."""
    for row in sorted({row for leaf in leaves for row in flow.used_in.get(leaf, ()) if row > after}):
        if flow.does(row, Trait.NORMALISATION):
            kept = [one for one in flow.inputs(row) if not flow.requires_grad(one) and not flow.has_history(one, row)]
            ends = [list(limits) for one in kept if (limits := limits_of(flow, one, row)) is not None]
            if [0.0, 0.0] in ends and [1.0, 1.0] in ends:
                return row
    return None


def _case(flow: Flow, event: Event, later: list[Step], statistics: int | None) -> Case:
    """Return the case of one line; ``statistics``: the call that uses such as nothing was collected in."""
    step = later[0].event.source
    paths = listed(event.data.get("names", ()))
    module = flow.spelling.text(event.source).strip().partition(".eval(")[0]
    why = ""
    if statistics is not None:
        call = flow.events[statistics]
        why = f": {call.op}{at(call.source)} takes means of 0 and variances of 1, which nothing has collected"
    name = module if module.replace(".", "").replace("_", "").isalnum() else event.data.get("type", "the module")
    return Case(
        kind="left-in-evaluation",
        message=f"{name} is in evaluation mode since {event.op}(){at(event.source)}, and nothing switches it back: "
        f"{counted(len(later), 'further step' if statistics is None else 'step')}{at(step)} train it in that mode, in "
        f"which {paths} compute something else than in training{why}.",
        remedy=f"{name}.train() before the training {'goes on' if statistics is None else 'begins'}, as at the "
        "beginning of each epoch",
        source=event.source,
        op=event.op,
        subjects=frozenset(),
        evidence={"modules": list(event.data.get("names", ())), "steps": len(later)},
    )
