"""What is measured of the rows of a tensor and meets its columns, as many of which there happen to be."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from math import prod

from ....operators import Trait
from ...base import Case
from ...facts.flow import Flow
from ...text.words import at, shape_text


def own_statistics(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line of a loss at which a measure of rows lacks the dimension that it was taken over.

    ``x - x.mean(dim=1)`` subtracts, of a column, what was measured of a row with its number; and with what still has
    that dimension, of size 1, each row meets each other one.
    """
    reported = set()
    for row, event in flow.of_kind("operation"):
        given = flow.inputs(row)
        if event.source in reported or len(given) != 2 or not flow.does(row, Trait.ELEMENTWISE):
            continue
        for whole, part in permutations(given):
            measured = _measured(flow, row, whole, part)
            if measured is None or row not in flow.behind_losses.calls:
                continue
            own = flow.inputs(measured[0])[0] == whole
            if not (_pairs_a_tensor_with_itself(flow, whole, row) if own else _is_made_for_pairs(flow, whole, row)):
                reported.add(event.source)
                yield _case(flow, row, (whole, part), measured)
                break


def _measured(flow: Flow, row: int, whole: int, part: int) -> tuple[int, int] | None:
    """Return the call that measured an operand over a dimension that the other one has, and that dimension.

    Either of the other itself, and it is subtracted from that, or what comes of the two is larger than both.
    """
    made = _reduction_behind(flow, part, row)
    of = flow.inputs(made)[0] if made is not None else whole
    shape = flow.facts(of).shape
    arguments = {} if made is None else flow.events[made].data.get("arguments", {})
    dim = arguments.get("dim", arguments.get("1"))
    dim = dim[0] if isinstance(dim, list | tuple) and len(dim) == 1 else dim
    if made is None or type(dim) is not int or not -len(shape) <= dim < len(shape):
        return None
    dim %= len(shape)
    moved = any(size > 1 for size in shape[:dim])  # those behind the dimension stand where they stood
    if not moved or flow.facts(part).shape != (*shape[:dim], *shape[dim + 1 :]):
        return None
    if of == whole:
        return (made, dim) if flow.does(row, Trait.DIFFERENCE) and flow.inputs(row)[1] == part else None
    sizes = [prod(flow.facts(one).shape) for one in (whole, part, *flow.outputs(row)[:1])]
    kept = flow.facts(whole).shape == (*shape[:dim], 1, *shape[dim + 1 :])
    return (made, dim) if kept and sizes[-1] > max(sizes[:2]) else None


def _reduction_behind(flow: Flow, tensor: int, row: int) -> int | None:
    """Return the reduction that a tensor comes from, entry by entry."""
    made = flow.last_producer(tensor, row)
    while made is not None and not flow.does(made, Trait.REDUCTION):
        alike = [one for one in flow.inputs(made) if flow.facts(one).shape == flow.facts(tensor).shape]
        if not flow.does(made, Trait.ELEMENTWISE) or len(alike) != 1:
            return None
        made = flow.last_producer(alike[0], made)
    return made if made is not None and flow.inputs(made) else None


def _is_made_for_pairs(flow: Flow, tensor: int, row: int) -> bool:
    """Whether a dimension of size 1 was put into a tensor on purpose, so that it meets all of another one."""
    rank, made = len(flow.facts(tensor).shape), flow.last_producer(tensor, row)
    while made is not None and flow.inputs(made):
        tensor = flow.inputs(made)[0]
        if flow.does(made, Trait.ARRANGING) and len(flow.facts(tensor).shape) < rank:
            return True
        if not flow.does(made, Trait.ELEMENTWISE, Trait.ARRANGING):
            return False
        made = flow.last_producer(tensor, made)
    return False


_PASSED = (Trait.ELEMENTWISE, Trait.VIEW, Trait.ARRANGING, Trait.COPY, Trait.REDUCTION)
"""Calls after which a table of pairs still is one."""


def _pairs_a_tensor_with_itself(flow: Flow, tensor: int, row: int) -> bool:
    """Whether a call behind a tensor takes one memory twice, as ``h @ h.T`` and distances do: rows are columns."""
    todo, seen = [(tensor, row)], set[int]()
    while todo:
        made = flow.last_producer(*todo.pop())
        if made is None or made in seen:
            continue
        seen.add(made)
        inputs = flow.events[made].data.get("inputs", ())
        distinct = dict.fromkeys(inputs) if flow.does(made, Trait.ELEMENTWISE) else inputs  # x * x is no table
        memories = [flow.facts(one).storage for one in distinct]
        if len(set(memories)) < len(memories):
            return True
        if flow.does(made, *_PASSED):
            todo += [(one, made) for one in inputs]
    return False


def _case(flow: Flow, row: int, pair: tuple[int, int], measured: tuple[int, int]) -> Case:
    """Return the case of one line."""
    (whole, part), (made, dim) = pair, measured
    event, measure, of = flow.events[row], flow.events[made], flow.inputs(made)[0]
    first, second, third = (flow.operand_name(one, call) for one, call in ((whole, row), (part, row), (of, made)))
    shapes = [flow.facts(one).shape for one in pair]
    result = flow.facts(flow.outputs(row)[0]).shape
    wrong = "what belongs to a row is subtracted from a column"
    if of != whole:
        wrong = f"every row meets every other row, and {shape_text(result)} comes of it"
    return Case(
        kind="broadcast",
        message=f"{event.op}{at(event.source)} takes {first}, {shape_text(shapes[0])}, and {second}, "
        f"{shape_text(shapes[1])}, which {measure.op}{at(measure.source)} took over dimension {dim} of {third}, "
        f"{shape_text(flow.facts(of).shape)}: without that dimension it lines up with the others one place further "
        f"right, so {wrong}.",
        remedy=f"keepdim=True in {measure.op}, and in what else is measured of {third} like that",
        source=measure.source,
        op=measure.op,
        subjects=frozenset({part}),
        marks=flow.marks(flow.run_after(row), [row], "rows meet columns"),
        evidence={"shapes": list(map(list, shapes)), "dim": dim, "operand": second},
    )
