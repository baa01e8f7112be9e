"""Two optimizers that move the same tensors in turn, beside tensors that get gradients of their own and have none."""

from __future__ import annotations

from itertools import combinations

from ...base import Case
from ...facts.calls import held_by
from ...facts.flow import Flow
from ...roles.trained import creation_row
from ...text.words import at, listed
from .forgotten_networks import feeds, loaded, used_as_they_are
from .misgiven import misgiven_case, take_turns


def twin_optimizers(flow: Flow, untrained: set[int]) -> Case | None:
    """Return the case of an optimizer that was given what another one has, in place of what nobody trains.

    That is told by what was loaded from nothing, gets gradients in every step, and does not only judge what the held
    tensors give, or feed them.
    """
    often = {leaf for leaf in untrained - used_as_they_are(flow) if len(flow.accumulated[leaf]) > 1}
    often = {leaf for leaf in often if not loaded(flow, leaf)}
    pair = _pair(flow) if often else None
    held = set() if pair is None else held_by(flow.events[pair[0]])
    if pair is None or not _has_a_loss(flow, often, held):
        return None
    came_first = creation_row(flow, min(often)) < creation_row(flow, min(held))  # optimizers are made in that order
    return _case(flow, sorted(often), *(pair if came_first else pair[::-1]))


def _pair(flow: Flow) -> tuple[int, int] | None:
    """Return the rows that made two optimizers of the same tensors which step in turn."""
    turns = [flow.events[row].data.get("owner") for row in flow.optimizer_steps]
    for (row, one), (twin, other) in combinations(flow.of_kind("optimizer", action="made"), 2):
        same = held_by(one) and held_by(one) == held_by(other)
        if same and take_turns(turns, one.data.get("owner"), other.data.get("owner")):
            return row, twin
    return None


def _has_a_loss(flow: Flow, leaves: set[int], held: set[int]) -> bool:
    """Whether gradients for leaves are of a loss of their own: of runs for them alone, or not through what is held."""
    reached = (flow.arrivals_in(run).keys() for run in flow.runs if run.accumulates)
    alone = sum(bool(got) and got <= leaves for got in reached) > 1
    return alone or not (feeds(flow, held, leaves) or feeds(flow, leaves, held))


def _case(flow: Flow, missing: list[int], made: int, twin: int) -> Case:
    """Return the case of an optimizer that steps, beside another one, for what that one has."""
    optimizer, names = flow.events[made], listed(flow.name(leaf) for leaf in missing)
    held = listed(flow.name(leaf) for leaf in sorted(held_by(optimizer)))
    them = "it" if len(missing) == 1 else "them"
    message = (
        f"the optimizer made{at(optimizer.source)} was given the tensors that the one made"
        f"{at(flow.events[twin].source)} has ({held}), and both step; {names} get gradients in every step, and no "
        f"optimizer has {them}."
    )
    return misgiven_case(
        flow, missing, optimizer, message, f"give the optimizer the parameters that nobody trains: {names}"
    )
