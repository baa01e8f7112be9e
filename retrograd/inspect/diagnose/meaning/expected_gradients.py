"""Which leaves a program means to train, as far as it shows: without that, a constant is no fault."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable

from ..recorded.calls import held_by
from ..recorded.checkpointed import checkpoint_around
from ..recorded.flow import Flow


def expected_gradients(flow: Flow) -> dict[int, str]:
    """Return leaf -> why its gradient is expected.

    ``"optimizer"``: an optimizer has it.  ``"asked"``: ``autograd.grad`` was asked for it.  ``"read"``: the program
    read its ``.grad``, and no optimizer steps.  ``"used"``: there is no optimizer to tell, and it was
    used while gradients were recorded.
    """
    found = dict.fromkeys(flow.optimized, "optimizer")
    for run in flow.runs:
        for tensor in run.inputs:
            found.setdefault(tensor, "asked")
    # Where optimizers step, who reads the gradient of what none holds only logs all of them.
    for _, event in flow.of_kind("read") if not flow.optimizer_steps else ():
        if event.data.get("leaf", True) and event.data.get("tensor") is not None:
            found.setdefault(event.data["tensor"], "read")
    if not flow.rows.get("optimizer"):
        for tensor in range(len(flow.tensors)):
            if tensor not in found and _used_for_gradients(flow, tensor):
                found[tensor] = "used"
    sharded = {leaf for _, event in flow.of_kind("wrapper", sharded=True) for leaf in event.data["inputs"]}
    return {
        leaf: why
        for leaf, why in found.items()
        if flow.is_leaf(leaf)
        and flow.requires_grad(leaf)
        and flow.switched_off(leaf) is None
        and leaf not in sharded  # a process may hold no part of it, and its gradient goes elsewhere first
    }


def awaited(flow: Flow, leaf: int) -> bool:
    """Whether a program looked for the gradient of a leaf after one run, found none, and looked again after another.

    What is updated all the same has its gradient from elsewhere, as from ``autograd.grad``.
    """
    begins = [run.begin for run in flow.runs]
    if not begins or flow.written_after(leaf, begins[0]):
        return False
    return len({bisect_left(begins, read) for read in flow.reads_of.get(leaf, ())} - {0}) > 1


def without_any_grad(flow: Flow) -> set[int]:
    """Return what optimizers hold that step, none of whose tensors ever had a ``.grad``, and what is awaited in vain.

    What ``autograd.grad`` gave for them went elsewhere, as into the copies of an inner loop.
    """
    held: dict[object, set[int]] = {}
    for event in map(flow.events.__getitem__, flow.optimizer_steps):
        held.setdefault(event.data.get("owner"), set()).update(held_by(event))
    with_grad = flow.given_by_hand | set(flow.accumulated)
    found = {leaf for leaves in held.values() if with_grad.isdisjoint(leaves) for leaf in leaves}
    if not flow.optimizer_steps:
        found |= {leaf for leaf in flow.reads_of.keys() - with_grad if awaited(flow, leaf)}
    return found


def held_for_others(flow: Flow) -> set[int]:
    """Return what an optimizer was given in place of tensors of the same shapes, which get the gradients instead.

    As the parameters of a network's copy.  That these get no gradient is no fault of the graph.
    """
    idle = without_any_grad(flow)
    held = flow.optimized
    taught = Counter(flow.facts(leaf).shape for leaf in flow.accumulated if leaf not in held)
    found: set[int] = set()
    for event in map(flow.events.__getitem__, flow.optimizer_steps):
        given = event.data.get("parameters", {}).values()
        shapes = Counter(flow.facts(leaf).shape for leaf in given)
        if idle.issuperset(given) and shapes == taught:
            found.update(given)
    return found


def _used_for_gradients(flow: Flow, tensor: int) -> bool:
    """Whether a leaf was used while gradients were recorded, and nothing but gradients changes it."""
    if not flow.requires_grad(tensor) or not flow.is_leaf(tensor):
        return False
    first_run = flow.runs[0].begin if flow.runs else len(flow.events)
    used = flow.used_in.get(tensor, ())
    return not flow.written_after(tensor, first_run) and any(
        flow.has_node(row) or checkpoint_around(flow, row) is not None for row in used
    )


def creation_row(flow: Flow, leaf: int) -> int:
    """Return the row at which a leaf came to be, as far as known: made, or first filled."""
    made = flow.facts(leaf).made_by
    if made is not None:
        return made
    first = min(flow.used_in.get(leaf, (-1,)))
    return first if first >= 0 and not flow.has_node(first) else -1


def made_since(flow: Flow, leaves: Iterable[int], row: int) -> bool:
    """Whether one of these leaves came to be after a row, as far as known."""
    return any(creation_row(flow, leaf) > row for leaf in leaves)


def updated_by_hand(flow: Flow, leaf: int) -> bool:
    """Whether a leaf that gets gradients is updated by the program itself, or its ``.grad`` is read.

    To look at the gradient after the last step is no update.
    """
    first, last = flow.accumulated[leaf][0], flow.accumulated[leaf][-1]
    replaced = (row > first for row in flow.leaf_events.get((leaf, "written"), ()))
    written = flow.written_after(leaf, first) or any(replaced)
    return written or any(row < last or first == last for row in flow.reads_of.get(leaf, ()))
