"""Second derivatives of piecewise linear functions: they are zero wherever they are defined."""

from __future__ import annotations

from collections.abc import Iterator

from ....operators import Trait
from ....program.places import SourceLine
from ...base import Case
from ...facts.flow import Flow
from ...facts.runs import Run
from ...text.words import at, listed
from ...thresholds import ASKED_OF_A_LINE

_STRAIGHT = (Trait.LINEAR, Trait.VIEW, Trait.ARRANGING)


def straight_pieces(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that asks for a second derivative which can only be zero, and trains by it."""
    asked: dict[SourceLine | None, int] = {}
    for row, line in _gradients(flow):
        run = flow.last_begun(row)
        asked[line] = asked.get(line, 0) + 1
        if run is None or asked[line] > ASKED_OF_A_LINE or not _trains(flow, row):
            continue
        bends = _bends_behind(flow, run)
        if bends:
            asked[line] = ASKED_OF_A_LINE
            yield _case(flow, run, bends)


def _gradients(flow: Flow) -> Iterator[tuple[int, SourceLine | None]]:
    """Yield the calls of ``autograd.grad`` that gave something, each with its line."""
    for row, event in flow.of_kind("operation"):
        if flow.is_gradient(row) and event.data.get("outputs"):
            yield row, event.source


def _trains(flow: Flow, row: int) -> bool:
    """Whether a call's result is part of a loss."""
    return not flow.behind_losses.tensors.isdisjoint(flow.events[row].data.get("outputs", ()))


def _bends_behind(flow: Flow, run: Run) -> list[int]:
    """Return the kinks of the function whose second derivative a pass computes; none if it is curved anywhere.

    The run's inputs must reach its root through that derivative alone.
    """
    bends: list[int] = []
    todo, seen = [(root, run.begin) for root in run.roots], set(run.roots)
    while todo:
        tensor, before = todo.pop()
        if tensor in run.inputs:
            return []
        for row in flow.producers(tensor, before, gradients=True):
            if flow.is_gradient(row):
                first = flow.last_begun(row)
                found = None if first is None else _bends(flow, first, {*first.inputs, *run.inputs})
                if found is None:
                    return []
                bends += found
            else:
                fresh = [given for given in flow.inputs(row) if given not in seen]
                seen.update(fresh)
                todo += [(given, row) for given in fresh]
    return bends


def _bends(flow: Flow, run: Run, variables: set[int]) -> list[int] | None:
    """Return the calls at which the roots of a run bend that are straight in some variables; None if they curve."""
    varying, found = set(variables), list[int]()
    for row in sorted(flow.reached_by(run).calls):
        given = [one for one in flow.events[row].data.get("inputs", ()) if one in varying]
        target = flow.target(row)
        if not given and target not in varying:
            continue
        varying.update(flow.outputs(row))
        if flow.does(row, Trait.PIECEWISE):
            found.append(row)
        elif not (flow.does(row, *_STRAIGHT) or (len(given) == 1 and _is_straight_in(flow, row, given[0]))):
            return None
    return found


def _is_straight_in(flow: Flow, row: int, operand: int) -> bool:
    """Whether a call is linear in one operand while the others stay."""
    first = next(iter(flow.events[row].data.get("inputs", ())), None)
    return flow.does(row, Trait.PRODUCT) or (flow.does(row, Trait.SCALING) and operand == first)


def _case(flow: Flow, run: Run, bends: list[int]) -> Case:
    """Return the case of one line."""
    places = dict.fromkeys(f"{flow.events[row].op}{at(flow.events[row].source)}" for row in bends)
    names = listed(flow.name(one, run.source) for one in run.inputs)
    root = flow.root_name(run)
    return Case(
        kind="zero-gradient",
        message=f"the derivative of {root} with respect to {names}{at(run.source)} is zero in every entry: {root} is a "
        f"derivative itself, of a function that bends at {listed(places)} and is straight in between, so its second "
        "derivative is zero, and nothing that is computed of it is learned.",
        remedy="use a smooth function (tanh, silu, softplus) in place of "
        f"{listed(dict.fromkeys(flow.events[row].op for row in bends))} where a second derivative is wanted",
        source=run.source,
        op=flow.events[bends[0]].op,
        marks=flow.marks(run, bends, "straight on both sides"),
        evidence={"asked": [flow.name(one, run.source) for one in run.inputs], "bends": list(places)},
    )
