"""Gradients requested with respect to tensors that were made after the loss: slices, copies."""

from __future__ import annotations

from collections.abc import Iterator

from ...operators import Trait, is_a
from ...program.places import SourceLine
from ..base import Case, Check
from ..facts.flow import Flow
from ..facts.runs import Run
from ..text.phrases import UNUSED
from ..text.words import at, listed


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that makes a tensor for which a later line requests gradients that do not exist."""
    reported = set[SourceLine | None]()
    for run in flow.runs:
        asks = run.inputs and run.roots and (not run.error or UNUSED in run.error)
        late = _made_late(flow, run) if asks else []
        source = flow.events[_maker(flow, late[0])].source if late else None
        if late and source not in reported:
            reported.add(source)
            yield _case(flow, run, late, source)


CHECK = Check("unused", {}, find)


def _made_late(flow: Flow, run: Run) -> list[int]:
    """Return the requested tensors that were made of something else after all roots of the pass."""
    made = [flow.last_producer(root, run.begin) for root in run.roots]
    latest = max((row for row in made if row is not None), default=-1)
    if latest < 0 or None in made:
        return []
    late = [one for one in run.inputs if one not in run.roots and latest < _maker(flow, one) < run.begin]
    reached, leaves = (flow.reached_by(run).tensors, _leaves_by_name(flow, run)) if late else (set[int](), set[str]())
    return [one for one in late if any(of in reached or flow.facts(of).name in leaves for of in _origins(flow, one))]


def _leaves_by_name(flow: Flow, run: Run) -> set[str]:
    """Return the names of the leaves of a run's graph, which no call may lead to, as out of a transform."""
    if run.snapshot is None:
        return set()
    snapshot = flow.graph_of(run)
    return {name for name, kind in zip(snapshot.name, snapshot.kind, strict=True) if name and kind == "leaf"}


def _origins(flow: Flow, tensor: int) -> list[int]:
    """Return what a tensor was made of, if it requires gradients."""
    row = _maker(flow, tensor)
    return [one for one in flow.inputs(row) if flow.requires_grad(one, row) or flow.has_history(one, row)]


def _maker(flow: Flow, tensor: int) -> int:
    """Return the call that made a tensor of another one, -1 for none."""
    row = next(iter(flow.made_in.get(tensor, ())), -1)
    return row if row >= 0 and flow.inputs(row) else -1


def _case(flow: Flow, run: Run, late: list[int], source: SourceLine | None) -> Case:
    """Return the case of one line."""
    row = _maker(flow, late[0])
    event, given = flow.events[row], _origins(flow, late[0])[0]
    origin, root = flow.name(given, source), flow.root_name(run)
    names = {flow.name(one, run.source) for one in late}
    asked = (
        f"{listed(sorted(names))}, whose gradient is asked for{at(run.source)}, {'is' if len(names) == 1 else 'are'}"
    )
    view = is_a(event.op, Trait.VIEW) or flow.facts(late[0]).view_of is not None
    what = "a view (slice)" if view else "a result"
    return Case(
        kind="unused-parameter",
        message=f"{asked} made by {event.op} of {origin}{at(source)} after {root}: {what} that is made then is no part "
        f"of its graph, which goes back to {origin} itself, so the gradient is None.",
        remedy=f"ask for the gradient of {origin}, and take the part of that: torch.autograd.grad({root}, {origin})[0]"
        f"; or make the part first and compute {root} with it",
        source=source,
        op=event.op,
        explains_error=bool(run.error),
        evidence={"asked": sorted(names)},
    )
