"""What is measured of the rows of a tensor and meets its columns, as many of which there happen to be."""

from __future__ import annotations

from collections.abc import Iterator

from ....operators import Trait
from ...base import Case
from ...facts.flow import Flow
from ...text.words import at, shape_text


def own_statistics(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line of a loss that subtracts, of a column, what was measured of a row with its number.

    ``x - x.mean(dim=1)`` lacks the dimension that the mean was taken over, so that the others stand at other places.
    """
    reported = set()
    for row, event in flow.of_kind("operation"):
        if event.source in reported or not flow.does(row, Trait.DIFFERENCE) or len(flow.inputs(row)) != 2:
            continue
        measured = _measured(flow, row)
        if measured is None or row not in flow.behind_losses.calls:
            continue
        if not _pairs_a_tensor_with_itself(flow, flow.inputs(row)[0], row):
            reported.add(event.source)
            yield _case(flow, row, *measured)


def _measured(flow: Flow, row: int) -> tuple[int, int] | None:
    """Return the call that measured one operand of a difference over a dimension of the other, and that dimension."""
    whole, part = flow.inputs(row)
    made = flow.last_producer(part, row)
    shape = flow.facts(whole).shape
    if made is None or not flow.does(made, Trait.REDUCTION) or tuple(flow.inputs(made)[:1]) != (whole,):
        return None
    arguments = flow.events[made].data.get("arguments", {})
    dim = arguments.get("dim", arguments.get("1"))
    if type(dim) is not int or not -len(shape) <= dim < len(shape):
        return None
    dim %= len(shape)
    kept = (*shape[:dim], *shape[dim + 1 :])
    moved = any(size > 1 for size in shape[:dim])  # those behind the dimension stand where they stood
    return (made, dim) if moved and flow.facts(part).shape == kept else None


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


def _case(flow: Flow, row: int, made: int, dim: int) -> Case:
    """Return the case of one line."""
    event, measure = flow.events[row], flow.events[made]
    whole, part = flow.inputs(row)
    first, second = (flow.operand_name(one, row) for one in (whole, part))
    return Case(
        kind="broadcast",
        message=f"{event.op}{at(event.source)} subtracts {second}, {shape_text(flow.facts(part).shape)}, which "
        f"{measure.op}{at(measure.source)} took over dimension {dim} of {first}, "
        f"{shape_text(flow.facts(whole).shape)}: without that dimension it lines up with the others one place further "
        "right, so what belongs to a row is subtracted from a column.",
        remedy=f"keepdim=True in {measure.op}, and in what else is measured of {first} like that",
        source=measure.source,
        op=measure.op,
        subjects=frozenset({part}),
        marks=flow.marks(flow.run_after(row), [row], "rows meet columns"),
        evidence={"shapes": [list(flow.facts(one).shape) for one in (whole, part)], "dim": dim, "operand": second},
    )
