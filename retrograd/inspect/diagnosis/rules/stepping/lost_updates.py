"""Steps by hand that make new tensors, which nothing uses, and leave the parameters as they are.

``p = p - lr * p.grad`` in a loop over parameters, a list of new weights that its function forgets to return, or
``slow = 0.9 * slow + 0.1 * fast`` for a copy that is to follow what trains.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ....operators import Trait
from ...base import Case
from ...facts.calls import held_by
from ...facts.flow import Flow
from ...text.spelling import rebound
from ...text.words import at, counted, listed
from ...thresholds import HABIT

_GRADIENT = ".grad"
"""How the attribute of a tensor that holds its gradient is spelled."""


def lost_updates(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that computes a leaf's next values in pass after pass, for nothing."""
    if flow.error is not None:
        return
    lines: dict[object, list[int]] = defaultdict(list)
    updates = _averages(flow) if flow.optimizer_steps else {} if flow.rows.get("optimizer") else _updates(flow)
    lost = _lost(flow) if updates else set()
    for leaf, rows in updates.items():
        first = rows[0]
        moved = flow.written_after(leaf, 0) and flow.writes_into(leaf)[-1] > first
        moved = moved or any(row > first for row in flow.leaf_events.get((leaf, "written"), ()))
        if len(rows) >= HABIT and not moved and lost.issuperset(rows):
            lines[flow.events[rows[-1]].source].append(leaf)
    for leaves in lines.values():
        yield _case(flow, leaves, updates[leaves[0]])


def _updates(flow: Flow) -> dict[int, list[int]]:
    """Return leaf -> the calls that add something made of a gradient to it."""
    wanted = {leaf for leaf in {*flow.accumulated, *(one for run in flow.runs for one in run.inputs)} if leaf >= 0}
    homes = {(flow.facts(leaf).storage, flow.facts(leaf).shape): leaf for leaf in wanted if flow.is_leaf(leaf)}
    gradients, scaled = set[int](), dict[int, int]()
    found: dict[int, list[int]] = defaultdict(list)
    for row, event in enumerate(flow.events):
        made = event.data.get("outputs", ())
        if event.kind not in ("operation", "cut") or (len(made) != 1 and not flow.is_gradient(row)):
            continue
        given = event.data.get("inputs", ())
        leaves = {scaled.get(one, homes.get((flow.facts(one).storage, flow.facts(one).shape), -1)) for one in given}
        leaves.discard(-1)
        gradients |= _read_in(flow, row)
        if flow.is_gradient(row):
            gradients.update(made)
        elif not gradients.isdisjoint(given):
            gradients.add(made[0])
            if len(leaves) == 1 and flow.does(row, Trait.LINEAR) and flow.does(row, Trait.ADDITION):
                leaf = leaves.pop()
                if flow.facts(leaf).shape == flow.facts(made[0]).shape:
                    found[leaf].append(row)  # a decay, perhaps, which is a part of the step
        elif len(given) == 1 and leaves and flow.does(row, Trait.SCALING):
            scaled[made[0]] = leaves.pop()
    return found


def _averages(flow: Flow) -> dict[int, list[int]]:
    """Return parameter that nothing trains -> the calls that mix it with one of its shape that an optimizer has."""
    held = {leaf for _, event in flow.of_kind("module") for leaf in held_by(event)}
    homes = {(flow.facts(leaf).storage, flow.facts(leaf).shape): leaf for leaf in (*held, *flow.optimized)}
    scaled, found = dict[int, int](), defaultdict[int, list[int]](list)
    for row, event in enumerate(flow.events) if held - flow.optimized.keys() else ():
        made, given = event.data.get("outputs", ()), event.data.get("inputs", ())
        if event.kind not in ("operation", "cut") or len(made) != 1 or flow.has_node(row):
            continue
        sides = [scaled.get(one, homes.get((flow.facts(one).storage, flow.facts(one).shape), -1)) for one in given]
        if len(sides) == 1 and sides[0] >= 0 and flow.does(row, Trait.SCALING):
            scaled[made[0]] = sides[0]
        still = [leaf for leaf in sides if leaf >= 0 and leaf not in flow.optimized and leaf not in flow.accumulated]
        mixed = len(sides) == 2 and len(still) == 1 and not flow.optimized.keys().isdisjoint(sides)
        mixed = mixed and flow.does(row, Trait.LINEAR) and flow.facts(made[0]).shape == flow.facts(still[0]).shape
        if mixed and rebound(flow.spelling.text(event.source)):  # else it may be kept, saved or sent, unseen
            found[still[0]].append(row)
    return found


def _read_in(flow: Flow, row: int) -> set[int]:
    """Return what a call takes that was read from ``.grad``."""
    data = flow.events[row].data
    named = zip(data.get("inputs", ()), data.get("names", ()), strict=False)
    return {one for one, name in named if name.endswith(_GRADIENT) or flow.facts(one).name.endswith(_GRADIENT)}


def _lost(flow: Flow) -> set[int]:
    """Return the calls whose results go nowhere: no pass starts at them, and only calls take them that are lost, too.

    All of a shape: what is computed of them in another one, such as a loss, may be what they were made for.
    """
    roots = {root for run in flow.runs for root in run.roots}
    lost, shapes = set[int](), dict[int, tuple[int, ...]]()
    for row in reversed(range(len(flow.events))):  # what takes a result comes later
        made = flow.events[row].data.get("outputs", ())
        if not made or not roots.isdisjoint(made):
            continue
        shapes[row] = flow.facts(made[0]).shape
        later = {one for output in made for one in flow.used_in.get(output, ())} - {row}
        if later <= lost and all(shapes[one] == shapes[row] for one in later):
            lost.add(row)
    return lost


def _case(flow: Flow, leaves: list[int], rows: list[int]) -> Case:
    """Return the case of the leaves that one line computes anew."""
    event, names = flow.events[rows[-1]], listed(map(flow.name, leaves))
    count = sum(flow.events[row].source == event.source for row in rows)
    spelled = next(iter(event.data.get("output_names", ())), "")
    one = len(leaves) == 1
    bound = f" Assigning to the name {spelled} does not write into the tensor that it stood for." if spelled else ""
    return Case(
        kind="lost-update",
        message=f"{names} never {'changes' if one else 'change'}: the step{at(event.source)} computes "
        f"{'its' if one else 'their'} next values into {'a new tensor' if one else 'new tensors'}, and nothing uses "
        f"{'it' if one else 'them'}, in {counted(count, 'step')}.{bound}",
        remedy="write into the tensor itself, under torch.no_grad(): p -= lr * g, or p.copy_(new); or return the new "
        "tensors and compute with them",
        source=event.source,
        op=event.op,
        subjects=frozenset(leaves),
        evidence={"leaves": [flow.name(leaf) for leaf in leaves], "steps": count},
    )
