"""Losses and gradients that are scaled by the number of processes although a wrapper averages over these."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from ...lineup.replica import sums
from ...operators import Trait, is_a
from ...operators.collectives import Shares, shares
from ...program.process_counts import counts_processes
from ...recording.events import Event
from ..base import Case, Check, Kind, Stage
from ..facts.flow import Flow
from ..facts.ledger import Step
from ..facts.runs import Run
from ..text.words import at, named

KINDS = {
    "summed-on-every-rank": Kind("something counts once for each rank", "warning", Stage.STATEMENT),
}
_MEAN = "mean"
"""The value of ``reduction`` with which a loss is an average."""


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for the first line that scales a mean loss, or divides averaged gradients, by the ranks."""
    averaged = {
        leaf: event
        for _, event in flow.of_kind("wrapper")
        if event.data.get("group_size", 1) > 1 and not event.data.get("dtensor")
        for leaf in event.data["inputs"]
    }
    in_hook = any(sums(event) and event.data.get("run") is not None for _, event in flow.of_kind("collective"))
    if not averaged:
        yield from _undivided(flow)
    elif not in_hook:  # a hook of the program may reduce otherwise than by an average
        yield from _losses(flow, averaged)
        yield from _gradients(flow, averaged)


CHECK = Check("world-factors", KINDS, find)


def _losses(flow: Flow, averaged: dict[int, Event]) -> Iterator[Case]:
    """Yield the case of a loss."""
    for run in flow.runs:
        wrapper = next((averaged[leaf] for leaf in flow.arrivals_in(run) if leaf in averaged), None)
        row = None if wrapper is None or run.nested else _scaling_of_mean(flow, run, wrapper.data["group_size"])
        if wrapper is not None and row is not None:
            event, count = flow.events[row], wrapper.data["group_size"]
            loss, less = flow.name(event.data["inputs"][0], event.source), is_a(event.op, Trait.DIVISION)
            done, size = ("divided", "small") if less else ("multiplied", "large")
            yield Case(
                kind="summed-on-every-rank",
                message=f"the loss {loss}, a mean, is {done} by the number of ranks, {count},{at(event.source)}: "
                f"{wrapper.op} averages gradients over the ranks already, so they become {count} times too {size}, as "
                "if the learning rate were.",
                remedy="leave the factor of the world size out: the average over ranks of means over their batches is "
                "the mean over the whole batch",
                source=event.source,
                op=event.op,
            )
            return


def _undivided(flow: Flow) -> Iterator[Case]:
    """Yield the case of gradients of means that are explicitly summed over ranks, and used without division."""
    summed = [row for row, event in flow.of_kind("collective") if event.data.get("gradients_of")]
    if not summed or any(any(event.data.get("requires_grad", ())) for _, event in flow.of_kind("collective")):
        return  # of one batch that ranks compute together the parts of a gradient are summed
    before, within, leaves = 0, list[Event](), set[int]()
    for step in flow.ledger.steps:
        run = flow.last_begun(step.row)
        rows = summed[bisect_right(summed, before) : bisect_left(summed, step.row)]
        within = [flow.events[row] for row in rows if _plain_sum(flow.events[row])]
        leaves = {leaf for event in within for leaf in event.data["gradients_of"]}
        if run is None or run.begin < before or not leaves or not step.held.keys() <= leaves:
            return
        if not _of_mean(flow, run) or _touched(flow, leaves, range(before, step.row)) or _rate_knows(flow, step):
            return
        before = step.row
    if within:
        yield _summed_case(flow, within[0], leaves)


def _plain_sum(event: Event) -> bool:
    """Whether all members of a group receive the sum."""
    return {Shares.SUM, Shares.SAME} <= shares(event.op) and "reduces" not in event.data


def _of_mean(flow: Flow, run: Run) -> bool:
    """Whether a pass begins at a mean, which nothing has scaled."""
    row = flow.last_producer(run.roots[0], run.begin) if len(run.roots) == 1 else None
    return row is not None and (
        is_a(flow.events[row].op, Trait.AVERAGE) or flow.events[row].data.get("arguments", {}).get("reduction") == _MEAN
    )


def _touched(flow: Flow, leaves: set[int], rows: range) -> bool:
    """Whether anything but sums and arrivals changes gradients in some rows."""
    for row in rows:
        event = flow.events[row]
        if event.kind == "clip" or (event.kind == "inplace" and event.data.get("gradient_of") in leaves):
            return True
        if event.kind == "leaf" and event.data.get("change") == "grad-set":
            return True
    return False


def _rate_knows(flow: Flow, step: Step) -> bool:
    """Whether the line that made an optimizer takes the number of processes into account."""
    made = (event for _, event in flow.of_kind("optimizer", action="made"))
    owner = step.event.data.get("owner")
    return any(event.data.get("owner") == owner and _by_processes(flow, event) for event in made)


def _summed_case(flow: Flow, event: Event, leaves: set[int]) -> Case:
    """Return the case of sums that nothing divides."""
    count, names = event.data.get("group_size", 0), named(flow, sorted(leaves))
    return Case(
        kind="summed-on-every-rank",
        severity="note",
        message=f"{event.op}{at(event.source)} sums the gradients of {names} over {count} ranks, and nothing divides "
        f"them: each is that of a mean over one rank's batch, so that steps are {count} times those of the mean over "
        "all batches, as if the learning rate were.",
        remedy=f"divide by the number of ranks after {event.op} (or give it op=AVG where the backend has it), unless "
        "the learning rate is meant for the sum",
        source=event.source,
        op=event.op,
    )


def _scaling_of_mean(flow: Flow, run: Run, count: int) -> int | None:
    """Return the call between a mean and a loss that scales it by the number of processes, up or down on the whole."""
    tensor, before, found, factor = run.roots[0] if run.roots else -1, run.begin, None, 1.0
    while (row := flow.last_producer(tensor, before)) is not None:
        event = flow.events[row]
        numbers = flow.numbers(row)
        if not is_a(event.op, Trait.SCALING) or len(event.data.get("inputs", ())) != 1 or len(numbers) != 1:
            mean = is_a(event.op, Trait.AVERAGE) or event.data.get("arguments", {}).get("reduction") == _MEAN
            return found if mean and factor in (count, 1.0 / count) else None
        scale = float(numbers[0])
        factor = factor / (scale or 1.0) if is_a(event.op, Trait.DIVISION) else factor * scale
        if scale == count and _by_processes(flow, event):
            found = row
        tensor, before = event.data["inputs"][0], row
    return None


def _by_processes(flow: Flow, event: Event) -> bool:
    """Whether the statement of a call has an operand that is the number of processes."""
    tree = flow.spelling.statement(event.source)
    if tree is None or event.source is None:
        return False
    operands = (one for node in ast.walk(tree) for one in _operands(node))
    return any(counts_processes(one, event.source.file) for one in operands)


def _operands(node: ast.AST) -> list[ast.expr]:
    """Return the operands of a multiplication or division."""
    match node:
        case ast.BinOp(op=ast.Mult() | ast.Div(), left=left, right=right):
            return [left, right]
        case ast.AugAssign(op=ast.Mult() | ast.Div(), value=value):
            return [value]
        case ast.Call(func=ast.Attribute(), args=args):
            return list(args)
    return []


def _gradients(flow: Flow, averaged: dict[int, Event]) -> Iterator[Case]:
    """Yield the case of gradients that are divided once more, and were not explicitly summed."""
    by_hand = {leaf for _, event in flow.of_kind("collective") for leaf in event.data.get("gradients_of", ())}
    lines: dict[object, list[int]] = {}
    for row, event in flow.of_kind("inplace"):
        leaf = event.data.get("gradient_of")
        if (
            leaf in averaged
            and leaf not in by_hand
            and is_a(event.op, Trait.DIVISION)
            and event.data.get("run") is None
            and flow.numbers(row) == [averaged[leaf].data["group_size"]]
            and _by_processes(flow, event)
        ):
            lines.setdefault(event.source, []).append(row)
    for rows in list(lines.values())[:1]:
        event = flow.events[rows[0]]
        leaves = list(dict.fromkeys(flow.events[row].data["gradient_of"] for row in rows))
        wrapper = averaged[leaves[0]]
        yield Case(
            kind="summed-on-every-rank",
            message=f"the gradients of {named(flow, leaves)} are divided by the number of "
            f"ranks, {wrapper.data['group_size']},{at(event.source)}: {wrapper.op} has averaged them already, so steps "
            "are that much too small.",
            remedy="leave the division by the world size out",
            source=event.source,
            op=event.op,
        )
