"""Noise that is drawn twice: a network is held to other numbers than those that were added to what it is given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ...operators import Trait
from ..base import Case, Check
from ..facts.flow import Flow
from ..facts.lines import few_of_each_line
from ..facts.steps import ended_before
from ..queries.distance import is_comparison
from ..text.words import at, shape_text
from ..thresholds import HABIT


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that compares a result with noise of its own, step after step."""
    drawn = [row for row, _ in flow.of_kind("operation") if flow.does(row, Trait.RANDOM)]
    lines: dict[object, list[tuple[int, int, int]]] = defaultdict(list)
    compared = [row for row, _ in flow.of_kind("operation") if drawn and flow.has_node(row) and _takes_one(flow, row)]
    for row in few_of_each_line(flow, compared):
        pair = _pair(flow, row, drawn) if is_comparison(flow, row) else None
        if pair is not None:
            lines[flow.events[row].source].append((row, *pair))
    for found in lines.values():
        if len(found) >= HABIT:
            yield _case(flow, *found[-1])


CHECK = Check("contracts", {}, find)


def _takes_one(flow: Flow, row: int) -> bool:
    """Whether a call that may compare takes a tensor that was drawn and that nothing else takes."""
    able = flow.does(row, Trait.DIFFERENCE) or (flow.does(row, Trait.LOSS) and flow.does(row, Trait.DISTANCE))
    return able and any(_drew(flow, one, row) is not None for one in flow.inputs(row)[:2])


def _drew(flow: Flow, tensor: int, row: int) -> int | None:
    """Return the call that drew a tensor which is used in a row and nowhere else."""
    made = flow.last_producer(tensor, row)
    drawn = made is not None and flow.does(made, Trait.RANDOM) and flow.does(made, Trait.LIKE, Trait.CREATION)
    return made if drawn and list(flow.used_in.get(tensor, ())) == [row] else None


def _pair(flow: Flow, row: int, drawn: list[int]) -> tuple[int, int] | None:
    """Return the call that drew what a result is compared with, and one alike whose numbers were added on its way."""
    sides = flow.inputs(row)[:2]
    target = next((one for one in sides if _drew(flow, one, row) is not None), -1)
    made, begun = flow.last_producer(target, row), ended_before(flow, row)
    behind = flow.behind([one for one in sides if one != target], row, gradients=False)
    for other in drawn:
        if made is not None and begun < other < row and other in behind.calls and _alike(flow, other, made):
            noise = flow.outputs(other)[0]
            if any(_adds(flow, call, noise, made) for call in behind.calls.intersection(_users(flow, noise))):
                return made, other
    return None


def _alike(flow: Flow, one: int, other: int) -> bool:
    """Whether two calls draw alike: by one operator, in one shape."""
    shapes = {flow.facts(out).shape for row in (one, other) for out in flow.outputs(row)}
    return one != other and flow.events[one].op == flow.events[other].op and len(shapes) == 1


def _users(flow: Flow, noise: int) -> set[int]:
    """Return the calls that take noise, or what scales it."""
    users = set(flow.used_in.get(noise, ()))
    scaled = {out for row in users if flow.does(row, Trait.SCALING) for out in flow.outputs(row)}
    return users.union(*(flow.used_in.get(one, ()) for one in scaled))


def _adds(flow: Flow, row: int, noise: int, target: int) -> bool:
    """Whether a call adds noise to data of its shape, which were not made of it and are not trained.

    Where the data are drawn, too, a target may be as well, to try a network out: unless it is drawn like them.
    """
    given = flow.inputs(row)
    if not flow.does(row, Trait.ADDITION) or len(given) != 2 or flow.has_node(row):
        return False
    data = next((one for one in given if noise not in flow.behind([one], row, gradients=False).tensors), None)
    behind = set() if data is None else flow.behind([data], row, gradients=False).calls
    tried = not flow.does(target, Trait.LIKE) and any(flow.does(call, Trait.RANDOM) for call in behind)
    alike = all(flow.facts(one).shape == flow.facts(noise).shape for one in given)
    return data is not None and alike and not tried


def _case(flow: Flow, row: int, target: int, noise: int) -> Case:
    """Return the case of one line."""
    event, wanted, added = flow.events[row], flow.events[target], flow.events[noise]
    shape = shape_text(flow.facts(flow.outputs(target)[0]).shape)
    return Case(
        kind="loss-contract",
        message=f"{event.op}{at(event.source)} compares a result with numbers {shape} that {wanted.op}"
        f"{at(wanted.source)} draws for it alone, while those that {added.op}{at(added.source)} draws are added "
        "to what the result is made of: nothing tells the network the numbers that it is to find.",
        remedy=f"draw once, and compare with the numbers that were added: those of {added.op}{at(added.source)}",
        source=wanted.source,
        op=wanted.op,
        evidence={"compared": list(event.source or ()), "added": list(added.source or ())},
    )
