"""Values that left the graph as plain numbers or arrays and came back as new tensors, which no call connects."""

from __future__ import annotations

from ...operators import Trait
from ..facts.answers import answered_once
from ..facts.call_inputs import limits_and_sum
from ..facts.flow import Flow
from ..facts.row_table import Reached
from ..facts.runs import Run
from ..facts.steps import cuts_between, ended_before

_NUMBERS = ((), (1,))


def value_cut(flow: Flow, leaf: int, runs: list[Run]) -> int | None:
    """Return the first call by which values of a leaf left the graph, if a loss is made of values that came back."""
    for run in runs:
        entered = _last_entry(flow, run)
        if entered is None:
            continue
        for row in cuts_between(flow, ended_before(flow, run.begin), entered):
            leaving = _leaves(flow, row) or _rewrapped(flow, row, run.roots)
            if leaving and leaf in flow.behind(flow.events[row].data.get("inputs", ()), row).tensors:
                return row
    return None


def returned_cut(flow: Flow, leaf: int, runs: list[Run]) -> int | None:
    """Return the first call by which values of a leaf left the graph that came back behind a loss as they were."""
    for run in runs:
        came = _came_back(flow, run)
        for row in flow.rows.get("cut", ()) if came else ():
            given = flow.inputs(row)
            back = came.get(_figures(flow, given[0], row)) if given and _leaves(flow, row) else None
            if back is not None and row < back and leaf in flow.behind(given, row).tensors:
                return row
    return None


@answered_once
def _came_back(flow: Flow, run: Run) -> dict[tuple[object, ...] | None, int]:
    """Return figures -> the call that made a tensor of plain values with these, of those behind a run's loss."""
    entered = _entries(flow, flow.values_behind(run))
    came = {_figures(flow, out, row + 1): row for row in entered for out in flow.outputs(row)}
    came.pop(None, None)
    return came


def _figures(flow: Flow, tensor: int, before: int) -> tuple[object, ...] | None:
    """Return shape, range and sum of a tensor to six digits, None if they are not distinctive."""
    limits, total = limits_and_sum(flow, tensor, before)
    if not limits or total is None or limits[0] == limits[1] == round(limits[0]):  # as many a constant is
        return None
    return flow.facts(tensor).shape, *(f"{figure:.6g}" for figure in (*limits, total))


def number_cut(flow: Flow, leaf: int, runs: list[Run]) -> int | None:
    """Return the first call by which a result with the history of a leaf became a plain number that a loss may take.

    One that is computed in the same step, before the last call behind the loss that takes a number.  What is printed
    beside a loss of constants, or of a step that is over, is none.
    """
    for run in runs:
        since = ended_before(flow, run.begin)
        for row in cuts_between(flow, since, _last_with_number(flow, run)):
            given, reason = flow.inputs(row), flow.events[row].data.get("reason")
            number = reason not in ("numpy", "copy") and _leaves(flow, row)
            fresh = any(since < made for one in given for made in flow.made_in.get(one, ()))
            if number and fresh and leaf in flow.behind(given, row).tensors:
                return row
    return None


@answered_once
def _last_with_number(flow: Flow, run: Run) -> int:
    """Return the last call of a step, behind its loss, that takes a fractional number; -1 for none."""
    since = ended_before(flow, run.begin)
    behind = flow.values_behind(run).calls
    taken = (row for row in behind if row > since and any(type(one) is float for one in flow.numbers(row)))
    return max(taken, default=-1)


def _leaves(flow: Flow, row: int) -> bool:
    """Whether a cut produced plain values, itself or by a later call on its result."""
    data = flow.events[row].data
    if _reads(flow, row) or flow.does(row, Trait.ENTERING):
        return True
    used = [call for out in data.get("outputs", ()) for call in flow.used_in.get(out, ())]
    return data.get("reason") in ("detach", "data") and any(_reads(flow, call) for call in used)


def _reads(flow: Flow, call: int) -> bool:
    """Whether a call returns numbers or an array, and no tensor."""
    return flow.does(call, Trait.READING) and not flow.events[call].data.get("outputs")


def _rewrapped(flow: Flow, row: int, roots: list[int]) -> bool:
    """Whether a loss that no call made can only be the result of a cut, rewrapped: ``Variable(loss.data)``.

    Or a leaf on the way to it, which lies where the cut's result does.
    """
    if any(_is_wrapped(flow, one) for out in flow.outputs(row) for one in flow.same_memory(out)):
        return True
    shapes = {flow.facts(out).shape for out in flow.events[row].data.get("outputs", ()) if not flow.used_in.get(out)}
    return any(flow.is_leaf(one) and not flow.made_in.get(one) and flow.facts(one).shape in shapes for one in roots)


def _is_made_in_each_step(flow: Flow, leaf: int) -> bool:
    """Whether a leaf was made of plain values, as its line makes one for each pass."""
    made = flow.facts(leaf).made_by
    if made is None or not flow.does(made, Trait.ENTERING) or flow.inputs(made) or leaf in flow.optimized:
        return False
    rows = flow.made_at(flow.events[made].source, flow.events[made].op)
    return flow.begun_between(rows[0], rows[-1])


def _is_wrapped(flow: Flow, tensor: int) -> bool:
    """Whether a leaf that requires grad was made by no call, in memory that another tensor had before."""
    alone = flow.is_leaf(tensor) and flow.requires_grad(tensor) and not flow.made_in.get(tensor)
    return alone and flow.facts(tensor).made_by is None and any(one < tensor for one in flow.same_memory(tensor))


def term_cut(flow: Flow, term: int, before: int, since: int, leaves: set[int]) -> int | None:
    """Return the call by which values of leaves left the graph, of a step, that came back as the values of a term."""
    behind = flow.behind([term], before, gradients=False)
    came_back = max((row for row in _entering(flow, behind) if since < row < before), default=since)
    for row in reversed(cuts_between(flow, since, came_back)):
        leaving = _leaves(flow, row) and _whole(flow, row)
        if leaving and leaves & flow.leaves_behind(flow.behind(flow.inputs(row), row)):
            return row
    return None


def leaving_words(flow: Flow, cut: int) -> str:
    """Return how values left the graph by a cut, as the program spells it: ``.detach().numpy()``."""
    if flow.does(cut, Trait.ENTERING):
        return f"torch.{flow.events[cut].written}(...)"
    used = [call for out in flow.outputs(cut) for call in flow.used_in.get(out, ())]
    read = next((flow.events[call].written for call in used if _reads(flow, call)), "")
    return f".{flow.events[cut].written}()" + (f".{read}()" if read else "")


def _whole(flow: Flow, row: int) -> bool:
    """Whether a cut gave an array, not a single number, as programs print many."""
    return any(flow.facts(one).shape not in _NUMBERS for one in flow.inputs(row))


def _entries(flow: Flow, behind: Reached) -> set[int]:
    """Return the calls that made tensors of plain values, of those behind a loss."""
    return {row for row in behind.calls if flow.does(row, Trait.ENTERING) and not flow.inputs(row)}


@answered_once
def _last_entry(flow: Flow, run: Run) -> int | None:
    """Return the last row at which a tensor of plain values came in behind a run's root."""
    behind = flow.values_behind(run)
    rows = _entering(flow, behind)
    for root in run.roots:
        rows.update(row for row in flow.made_in.get(root, ()) if row < run.begin and not flow.inputs(row))
        if not flow.made_in.get(root) and flow.is_leaf(root):
            rows.add(run.begin)
    return max(rows, default=None)


def _entering(flow: Flow, behind: Reached) -> set[int]:
    """Return the events at which plain values entered, among what is behind something."""
    rows = _entries(flow, behind)
    for tensor in behind.tensors:  # made by no recorded call, as from_numpy does: known from its first use on
        used = flow.used_in.get(tensor)
        plain = not flow.requires_grad(tensor) or _is_wrapped(flow, tensor) or _is_made_in_each_step(flow, tensor)
        if used and plain and min(flow.made_in.get(tensor, used)) >= used[0]:
            rows.add(used[0])
    return rows
