"""Steps that are right but waste the time of backward: loops over entries, exponentials of large matrices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod
from statistics import median

from ...graphs.graph import Graph
from ...operators import Trait
from ...program.places import SourceLine
from ..base import Case, Check, Kind, Stage
from ..facts.calls import CALLS
from ..facts.flow import Flow
from ..facts.nodes import call_of, largest_graphs
from ..facts.runs import Run
from ..text.words import at, counted, operator_word, shape_text
from ..thresholds import ENTRY_BY_ENTRY, HALF_OF_IT, LARGE_MATRIX, LOOP, MEDIANS, MOVED, PART, WORTH_TELLING

KINDS = {"slow-node": Kind("one node or line takes most of the backward time", "warning", Stage.COST)}


def find(flow: Flow) -> Iterator[Case]:
    """Yield the cases of the largest graph of each line that runs backward."""
    for run, snapshot in largest_graphs(flow):
        if "time_us" in snapshot.measures and not run.began.get("device"):  # nobody knows how long it took there
            yield from _loops(flow, run, snapshot)
            yield from _rules(flow, run, snapshot)
            yield from _exponentials(flow, run, snapshot)


CHECK = Check("cost", KINDS, find)


# -- parts of one tensor in a loop


def _loops(flow: Flow, run: Run, snapshot: Graph) -> Iterator[Case]:
    """Yield a case for each tensor for which many nodes each fill a gradient much larger than their own part."""
    times = snapshot.measures["time_us"]
    spent: dict[int, float] = {}
    for node, time in enumerate(times):
        row = call_of(flow, snapshot, node)
        if row is not None and flow.does(row, Trait.PART, Trait.WRITING) and flow.inputs(row):
            spent[row] = spent.get(row, 0.0) + (time or 0.0)
    by_memory: dict[int, list[int]] = {}
    for row in spent:
        whole = _whole(flow, row)
        by_memory.setdefault(flow.facts(whole).storage or -whole, []).append(row)
    all_of_it = sum(time or 0.0 for time in times)
    for rows in by_memory.values():
        whole, part = _sizes(flow, rows[0]) if len(rows) >= LOOP else (0, 1)
        taken = sum(spent[row] for row in rows)
        if whole >= PART * part and len(rows) * whole >= MOVED and taken >= WORTH_TELLING * all_of_it:
            yield _loop_case(flow, run, sorted(rows), (taken, all_of_it))


def _whole(flow: Flow, row: int) -> int:
    """Return the tensor of which a call reads or writes a part."""
    return max(flow.inputs(row), key=lambda tensor: prod(flow.facts(tensor).shape))


def _sizes(flow: Flow, row: int) -> tuple[int, int]:
    """Return the number of entries of the tensor of which a call reads or writes a part, and of the part."""
    whole = _whole(flow, row)
    others = [given for given in flow.inputs(row) if given != whole]
    parts = others if flow.does(row, Trait.WRITING) else flow.events[row].data.get("outputs", ())
    sizes = [prod(flow.facts(part).shape) for part in parts]
    return prod(flow.facts(whole).shape), max([1, *sizes])


def _loop_case(flow: Flow, run: Run, rows: list[int], spent_of: tuple[float, float]) -> Case:
    """Return the case of one tensor, at the line that takes most of its parts."""
    spent, whole = spent_of
    source = Counter(flow.events[row].source for row in rows).most_common(1)[0][0]
    event = flow.events[rows[0]]
    tensor = _whole(flow, rows[0])
    name = flow.name(tensor, source)
    writes = flow.does(rows[0], Trait.WRITING)
    op = "write by index (setitem)" if writes else f"{operator_word(event.op)} (select)"
    does = "copies a gradient" if writes else "fills a gradient"
    if writes:
        remedy = f"collect the parts in a list and put them together once: {name} = torch.stack(parts)"
    elif len(flow.events[rows[0]].data.get("inputs", ())) > 1:
        remedy = f"look all indices of {name} up at once"
    else:
        remedy = f"vectorise over {name}, or take it apart once: for row in {name}.unbind(0)"
    return Case(
        kind="slow-node",
        message=f"{counted(len(rows), 'node')} of {op} on {name}{at(source)} take {spent / 1000:.0f} ms, "
        f"{spent / whole:.0%} of backward: in a loop, each {does} of the full shape "
        f"{shape_text(flow.facts(tensor).shape)} for its small part.",
        remedy=remedy,
        source=source,
        op=event.op,
        subjects=frozenset({tensor}),
        marks=flow.marks(run, rows[:1], f"one of {len(rows)}"),
        evidence={"nodes": len(rows), "time_us": spent, "share": spent / whole},
    )


# -- a custom Function that computes entry by entry


def _rules(flow: Flow, run: Run, snapshot: Graph) -> Iterator[Case]:
    """Yield a case for each node of a custom Function whose backward loops in Python and takes most of the time."""
    times = snapshot.measures["time_us"]
    whole = sum(time or 0.0 for time in times)
    for node, spent in enumerate(times):
        if not spent or spent < HALF_OF_IT * whole:
            continue
        row = call_of(flow, snapshot, node)
        if row is not None and flow.events[row].kind == "function":
            lines = _lines_of_rule(flow, run, row)
            if lines.total() >= ENTRY_BY_ENTRY:
                yield _rule_case(flow, run, row, (lines, spent, whole))


def _lines_of_rule(flow: Flow, run: Run, row: int) -> Counter[SourceLine]:
    """Return how often each line of a Function's backward read or wrote a small part of a tensor in a pass."""
    defined = flow.events[row].data.get("backward_line") or ["", 0, ""]
    found: Counter[SourceLine] = Counter()
    for call in range(run.begin, run.end):
        event, line = flow.events[call], flow.events[call].source
        inside = line is not None and (line.file, line.function) == (defined[0], defined[2]) and line.line >= defined[1]
        if line and inside and event.kind in CALLS and flow.does(call, Trait.PART, Trait.WRITING):
            whole, part = _sizes(flow, call)
            found[line] += whole >= PART * part
    return found


def _rule_case(flow: Flow, run: Run, row: int, spent_at: tuple[Counter[SourceLine], float, float]) -> Case:
    """Return the case of one Function."""
    lines, spent, whole = spent_at
    event, source = flow.events[row], lines.most_common(1)[0][0]
    return Case(
        kind="slow-node",
        message=f"{event.op}.backward takes {spent / 1000:.0f} ms, {spent / whole:.0%} of backward: its loop"
        f"{at(source)} computes entry by entry ({counted(lines.total(), 'part')} of tensors for one gradient).",
        remedy=f"compute the gradient of {event.op} with operations on whole tensors, without a Python loop",
        source=source,
        op=event.op,
        marks=flow.marks(run, [row], f"{spent / 1000:.0f} ms"),
        evidence={"time_us": spent, "share": spent / whole, "operations": lines.total()},
    )


# -- a function of a matrix whose gradient is the same function of a matrix twice as large


def _exponentials(flow: Flow, run: Run, snapshot: Graph) -> Iterator[Case]:
    """Yield a case for each exponential of a matrix that takes most of the time in every run from a line."""
    times = [time or 0.0 for time in snapshot.measures["time_us"]]
    whole = sum(times)
    for node, spent in enumerate(times):
        row = call_of(flow, snapshot, node) if spent >= max(HALF_OF_IT * whole, MEDIANS * median(times)) else None
        if row is None or not flow.does(row, Trait.DOUBLING):
            continue
        others = _times_of(flow, run, snapshot, node)
        large = flow.facts(flow.inputs(row)[0]).shape[-1] >= LARGE_MATRIX
        if large and len(others) > 1 and min(others) >= MEDIANS * median(times):  # else it waited for something
            yield _exponential_case(flow, run, row, (spent, whole))


def _times_of(flow: Flow, run: Run, snapshot: Graph, node: int) -> list[float]:
    """Return the durations of nodes like one in the passes from the same line that were measured."""
    found = []
    for other in flow.runs:
        if other.source == run.source and other.snapshot is not None and not other.error:
            graph = flow.graph_of(other)
            like = zip(graph.op, graph.source, graph.measures.get("time_us", ()), strict=False)
            found += [time for op, source, time in like if time and (op, source) == _kind_of(snapshot, node)]
    return found


def _kind_of(snapshot: Graph, node: int) -> tuple[str, SourceLine | None]:
    """Return the operator of a node, and the line that made it."""
    return snapshot.op[node], snapshot.source[node]


def _exponential_case(flow: Flow, run: Run, row: int, spent_of: tuple[float, float]) -> Case:
    """Return the case of one exponential."""
    spent, whole = spent_of
    event = flow.events[row]
    shape = flow.facts(flow.inputs(row)[0]).shape
    return Case(
        kind="slow-node",
        message=f"{event.op}{at(event.source)} takes {spent / 1000:.0f} ms, {spent / whole:.0%} of backward: its "
        f"gradient is the exponential of a matrix of twice the size, {shape_text((2 * shape[-2], 2 * shape[-1]))}.",
        remedy="a cheaper map to the same matrices: the Cayley transform torch.linalg.solve(I + A, I - A), Householder "
        "reflections, or a few terms of the series where the entries are small",
        source=event.source,
        op=event.op,
        marks=flow.marks(run, [row], f"{spent / 1000:.0f} ms"),
        evidence={"time_us": spent, "share": spent / whole},
    )
