"""Which leaves a program made parameters, and which of them nobody trains."""

from __future__ import annotations

from ..recorded.flow import Flow
from ..recorded.taken_gradients import taken_gradients

_PARAMETER = frozenset({"Parameter", "copy"})
"""What recordings call ``torch.nn.Parameter(...)``, the second of our engine."""


def is_parameter(flow: Flow, leaf: int) -> bool:
    """Whether a leaf is what ``torch.nn.Parameter(...)`` made, which only what is to be trained is."""
    facts = flow.facts(leaf)
    made = None if facts.made_by is None else flow.events[facts.made_by]
    return facts.parameter or (made is not None and facts.requires_grad and facts.leaf and made.op in _PARAMETER)


def is_born_parameter(flow: Flow, leaf: int) -> bool:
    """Whether a leaf was made to be trained: by ``Parameter(...)``, or from nothing with ``requires_grad``."""
    facts = flow.facts(leaf)
    event = None if facts.made_by is None else flow.events[facts.made_by]
    anew = event is not None and facts.requires_grad and facts.leaf and not event.data.get("inputs")
    return anew or is_parameter(flow, leaf)


def used_gradients(flow: Flow) -> set[int]:
    """Return the leaves whose gradients a program asks for, sets itself, or computes a later loss with.

    As by the coordinates of a differential equation, by the inputs of an attack.
    """
    later = flow.behind_losses.tensors
    taken = {one.leaf for one in taken_gradients(flow) if one.gradient in later}
    return taken.union(flow.given_by_hand, *(run.inputs for run in flow.runs))


def without_use(flow: Flow) -> set[int]:
    """Return the leaves that get gradients which nobody uses: no optimizer, no update by hand, no later loss."""
    others = flow.accumulated.keys() - flow.optimized.keys() - used_gradients(flow)
    return {leaf for leaf in others if not flow.ledger.moved_by_hand(leaf)}


def kept_results(flow: Flow) -> dict[int, tuple[int, int]]:
    """Return what was made of a parameter before the training and takes its place -> that parameter, and the call."""
    found: dict[int, tuple[int, int]] = {}
    for leaf in sorted(without_use(flow)):
        row = _last_before(flow, leaf, flow.runs[0].begin) if is_born_parameter(flow, leaf) else None
        if row is not None:
            found[flow.outputs(row)[0]] = leaf, row
    return found


def _last_before(flow: Flow, leaf: int, first_run: int) -> int | None:
    """Return the last of a chain of calls, each of which alone takes what the one before made, from a leaf on."""
    found, tensor = -1, leaf
    while True:
        uses = [row for row in flow.used_in.get(tensor, ()) if flow.has_node(row)]
        if len(uses) != 1 or not found < uses[0] < first_run or len(flow.outputs(uses[0])) != 1:
            return None if found < 0 else found
        if not all(flow.requires_grad(given, uses[0]) for given in flow.inputs(uses[0])):
            return None  # it is made of data as well, so it is what a network gives
        found, tensor = uses[0], flow.outputs(uses[0])[0]
