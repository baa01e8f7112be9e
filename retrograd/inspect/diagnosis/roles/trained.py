"""The leaves that a program means to train: parameters, leaves whose gradients are read, and frozen ones."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable

from ..facts.answers import answered_once
from ..facts.calls import held_by
from ..facts.flow import Flow
from ..facts.nodes import checkpoint_around
from ..facts.runs import Run
from ..facts.steps import taken_gradients


def is_parameter(flow: Flow, leaf: int) -> bool:
    """Whether a leaf was made by ``torch.nn.Parameter(...)``, which implies that it is to be trained."""
    facts = flow.facts(leaf)
    made = None if facts.made_by is None else flow.events[facts.made_by]
    return facts.parameter or (made is not None and facts.requires_grad and facts.leaf and made.op == "Parameter")


def is_born_parameter(flow: Flow, leaf: int) -> bool:
    """Whether a leaf was made to be trained: by ``Parameter(...)``, or from nothing with ``requires_grad``."""
    facts = flow.facts(leaf)
    event = None if facts.made_by is None else flow.events[facts.made_by]
    anew = event is not None and facts.requires_grad and facts.leaf and not event.data.get("inputs")
    return anew or is_parameter(flow, leaf)


@answered_once
def used_gradients(flow: Flow) -> set[int]:
    """Return the leaves whose gradients a program asks for, sets itself, or computes a later loss with.

    As by the coordinates of a differential equation, by the inputs of an attack.
    """
    later = flow.behind_losses.tensors
    taken = {one.leaf for one in taken_gradients(flow) if one.gradient in later}
    return taken.union(flow.ledger.given_by_hand, *(run.inputs for run in flow.runs))


@answered_once
def without_use(flow: Flow) -> set[int]:
    """Return the leaves with gradients that nothing uses: no optimizer, no manual update, no later loss."""
    others = flow.accumulated.keys() - flow.optimized.keys() - used_gradients(flow)
    return {leaf for leaf in others if not flow.ledger.moved_by_hand(leaf)}


def kept_results(flow: Flow) -> dict[int, tuple[int, int]]:
    """Return result computed from a parameter before training and used in its place -> that parameter, and the call."""
    found: dict[int, tuple[int, int]] = {}
    for leaf in sorted(without_use(flow)):
        row = _last_before(flow, leaf, flow.runs[0].begin) if is_born_parameter(flow, leaf) else None
        if row is not None:
            found[flow.outputs(row)[0]] = leaf, row
    return found


def _last_before(flow: Flow, leaf: int, first_run: int) -> int | None:
    """Return the last of a chain of calls from a leaf on, each the only user of the previous result."""
    found, tensor = -1, leaf
    while True:
        uses = [row for row in flow.used_in.get(tensor, ()) if flow.has_node(row)]
        if len(uses) != 1 or not found < uses[0] < first_run or len(flow.outputs(uses[0])) != 1:
            return None if found < 0 else found
        if not all(flow.requires_grad(given, uses[0]) for given in flow.inputs(uses[0])):
            return None  # it is made of data as well, so it is what a network gives
        found, tensor = uses[0], flow.outputs(uses[0])[0]


@answered_once
def expected_gradients(flow: Flow) -> dict[int, str]:
    """Return leaf -> why its gradient is expected.

    ``"optimizer"``: an optimizer has it.  ``"asked"``: ``autograd.grad`` was asked for it.  ``"read"``: the program
    read its ``.grad``, and no optimizer steps.  ``"used"``: there is no optimizer that shows it, and it was
    used while gradients were recorded.
    """
    found = dict.fromkeys(flow.optimized, "optimizer")
    for run in flow.runs:
        for tensor in run.inputs:
            found.setdefault(tensor, "asked")
    # If optimizers step, reading the gradient of what none holds is only logging.
    for _, event in flow.of_kind("read") if not flow.optimizer_steps else ():
        if event.data.get("leaf", True) and event.data.get("tensor") is not None:
            found.setdefault(event.data["tensor"], "read")
    if not flow.rows.get("optimizer"):
        for tensor in range(len(flow.tensors)):
            if tensor not in found and _used_for_gradients(flow, tensor):
                found[tensor] = "used"
    wrapped = [event.data for _, event in flow.of_kind("wrapper", sharded=True) if not event.data.get("dtensor")]
    sharded = {leaf for data in wrapped for leaf in data["inputs"]}
    return {
        leaf: why
        for leaf, why in found.items()
        if flow.is_leaf(leaf)
        and flow.requires_grad(leaf)
        and flow.switched_off(leaf) is None
        and leaf not in sharded  # a process may hold no part of it, and its gradient goes elsewhere first
    }


def awaited(flow: Flow, leaf: int) -> bool:
    """Whether a program read the gradient of a leaf after one pass, found None, and read it again after another.

    What is updated all the same has its gradient from elsewhere, as from ``autograd.grad``.
    """
    begins = [run.begin for run in flow.runs]
    if not begins or flow.written_after(leaf, begins[0]):
        return False
    return len({bisect_left(begins, read) for read in flow.reads_of.get(leaf, ())} - {0}) > 1


@answered_once
def without_any_grad(flow: Flow) -> set[int]:
    """Return what stepping optimizers hold without ever a ``.grad``, and leaves whose gradients are read in vain.

    What ``autograd.grad`` gave for them went elsewhere, as into the copies of an inner loop.
    """
    held: dict[object, set[int]] = {}
    for event in map(flow.events.__getitem__, flow.optimizer_steps):
        held.setdefault(event.data.get("owner"), set()).update(held_by(event))
    with_grad = flow.ledger.given_by_hand | set(flow.accumulated)
    found = {leaf for leaves in held.values() if with_grad.isdisjoint(leaves) for leaf in leaves}
    if not flow.optimizer_steps:
        found |= {leaf for leaf in flow.reads_of.keys() - with_grad if awaited(flow, leaf)}
    return found


def held_for_others(flow: Flow) -> set[int]:
    """Return what an optimizer holds in place of tensors with the same shapes that get the gradients instead.

    Such as the parameters of a network's copy: that these get no gradient is not the graph's fault.
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
    """Whether a leaf was used while gradients were recorded, and nothing but gradients changes it.

    What is first used after the last backward pass is only evaluated, like a model that is simulated.
    """
    if not flow.requires_grad(tensor) or not flow.is_leaf(tensor):
        return False
    first, last = (flow.runs[0].begin, flow.runs[-1].end) if flow.runs else (len(flow.events),) * 2
    used = flow.used_in.get(tensor, ())
    return not flow.written_after(tensor, first) and any(
        row < last and (flow.has_node(row) or checkpoint_around(flow, row) is not None) for row in used
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

    Reading the gradient after the last step is not an update.
    """
    first, last = flow.accumulated[leaf][0], flow.accumulated[leaf][-1]
    replaced = (row > first for row in flow.leaf_events.get((leaf, "written"), ()))
    written = flow.written_after(leaf, first) or any(replaced)
    return written or any(row < last or first == last for row in flow.reads_of.get(leaf, ()))


def trained_then_frozen(flow: Flow, run: Run) -> dict[int, int]:
    """Return the leaves behind a loss, on this side of every cut, that were meant to train and are frozen.

    They once got gradients, or are all that an optimizer holds.
    """
    todo, seen = [(root, run.begin) for root in run.roots], set(run.roots)
    while todo:
        tensor, before = todo.pop()
        for row in flow.producers(tensor, before):
            if flow.events[row].kind == "operation":
                fresh = [given for given in flow.inputs(row) if given not in seen]
                seen.update(fresh)
                todo.extend((given, row) for given in fresh)
    held = [held_by(event) for _, event in flow.of_kind("optimizer", action="made")]
    off = [own for own in held if len(frozen_before(flow, sorted(own), run.begin)) == len(own)]
    meant = set(flow.accumulated).union(*off)
    return frozen_before(flow, sorted(seen & meant), run.begin)


def frozen_before(flow: Flow, tensors: list[int], before: int) -> dict[int, int]:
    """Return those of the tensors that were frozen by then, each with the row that froze it."""
    found = {tensor: flow.switched_off(tensor, before) for tensor in tensors}
    return {tensor: row for tensor, row in found.items() if row is not None}
