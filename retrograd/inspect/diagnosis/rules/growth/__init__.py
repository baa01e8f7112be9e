"""Graphs that grow from step to step, or that nothing frees."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from ....program.places import SourceLine
from ....recording.events import Event
from ...base import Case, Check, Kind, Stage
from ...facts.flow import Flow
from ...facts.runs import Run
from ...queries.carried_tensors import CarriedTensor, carried_tensor
from ...text.spelling import argument
from ...text.words import at, counted, in_code, listed
from ...thresholds import GROWN_GRAPH, SERIES
from .kept import Kept, carried_for_nothing, collected_passes, ends_of_passes, kept_cases, put_away
from .sums import is_elsewhere, running_sums

KINDS = {
    "graph-growth": Kind("a graph is kept or gets longer from step to step", "error", Stage.STATEMENT),
    "ctx-leak": Kind("a custom Function stores an output on `ctx`", "warning", Stage.STATEMENT),
    "create-graph-cycle": Kind(
        "`backward(create_graph=True)` makes a cycle through `.grad` that nothing breaks", "warning", Stage.STATEMENT
    ),
}
_CLEARING = ("grad-cleared", "grad-set", "zero_grad")
"""Changes that remove the old gradient, with its history, from ``.grad``."""
_PUTTING = frozenset({"append", "appendleft", "add", "push", "extend", "put"})


def find(flow: Flow) -> Iterator[Case]:
    """Yield the cases of this family."""
    cyclic = {out for row, _, _ in _outputs_on_ctx(flow) for out in flow.outputs(row)}  # which hold themselves
    kept = kept_cases(flow, _kept_results(flow, cyclic)) or kept_cases(flow, _kept_meanwhile(flow, cyclic))
    cycles = list(_cycles(flow))
    kept = [case for case in kept if not (cycles and _held_by_gradients(flow, case))]
    longer = _longer_runs(flow, kept)
    if longer is not None:
        yield longer
    chained: set[int] = set()
    yield from running_sums(flow, {tensor for case in kept for tensor in case.subjects}, chained)
    yield from (case for case in kept if not (case.subjects <= chained and _stays_put(flow, case)))
    yield from _collected(flow, {case.source for case in kept})
    yield from carried_for_nothing(flow)
    yield from _kept_on_ctx(flow)
    yield from cycles


CHECK = Check("growth", KINDS, find)


def _longer_runs(flow: Flow, kept: list[Case]) -> Case | None:
    """Return the case of a loop whose backward pass traverses all earlier steps.

    A gradient that is to have a history itself is a step of something longer, as of an inner loop: it is to grow.
    """
    by_line: dict[SourceLine | None, list[Run]] = {}
    for run in flow.runs:
        if not run.nested and not run.error and not (run.inputs and run.began.get("create_graph")):
            by_line.setdefault(run.source, []).append(run)
    for runs in by_line.values():
        sizes = [len(flow.reached_by(run).calls) for run in runs]
        growing = len(runs) >= 3 and all(one < other for one, other in pairwise(sizes))
        if not growing or sizes[-1] < GROWN_GRAPH * sizes[0]:
            continue
        carried = carried_tensor(flow, runs[-2], runs[-1])
        if carried is None:
            continue
        holder = next((case for case in kept if carried.tensor in case.subjects), None) or _held(flow, carried.tensor)
        return _longer_case(flow, runs, carried, holder)
    return None


def _held(flow: Flow, tensor: int) -> Case | None:
    """Return the case of a collection that holds a tensor and others of its line, as the garbage collector shows."""
    line = flow.facts(tensor).source
    alike = [one for one, facts in enumerate(flow.tensors) if facts.source == line and facts.lasted is not None]
    known = line is not None and len(alike) >= SERIES and any(flow.facts(one).holder for one in alike)
    return kept_cases(flow, [Kept(line, alike, len(alike))])[0] if known else None


def _longer_case(flow: Flow, runs: list[Run], carried: CarriedTensor, holder: Case | None) -> Case:
    """Return the case of one loop, with the case of the collection ``holder`` in which results accumulate."""
    last = runs[-1]
    nodes = [len(flow.graph_of(run)) for run in runs if run.snapshot is not None]
    grown = f", from {nodes[0]:,} to {nodes[-1]:,} nodes in {counted(len(nodes), 'step')}" if nodes else ""
    retained = ", kept alive by retain_graph=True" if runs[0].retains else ""
    how = f"{carried.name} is carried over{at(carried.used_at)} with its history{retained}"
    remedy = f"{carried.detached} at the end of each iteration" + (", and drop retain_graph=True" if retained else "")
    if holder is not None:
        name = argument(flow.spelling.text(holder.source), _PUTTING.__contains__) or holder.evidence["names"][0]
        how = f"{name} of every step is kept with its history{at(holder.source)}"
        how += f" and used again{at(carried.used_at)}{retained}"
        remedy = "empty the collection once backward has run" + (", and drop retain_graph=True" if retained else "")
    return Case(
        kind="graph-growth",
        message=f"each backward{at(last.source)} walks all earlier steps{grown}: {how}.",
        remedy=remedy,
        source=carried.used_at if holder is None else holder.source,
        op=flow.events[carried.user].op,
        subjects=frozenset({carried.tensor}) | (holder.subjects if holder is not None else frozenset()),
        marks=flow.marks(last, [carried.maker], "carried over from the step before"),
        evidence={"nodes": nodes},
    )


def _stays_put(flow: Flow, case: Case) -> bool:
    """Whether no line was found that stores what is kept: it lives on in what is computed from it."""
    return all(flow.facts(tensor).source == case.source for tensor in case.subjects)


def _kept_results(flow: Flow, cyclic: set[int]) -> Iterator[Kept]:
    """Yield each line whose results of many steps, with their graphs, were still alive at the end."""
    by_line: dict[SourceLine | None, list[int]] = {}
    for tensor, facts in enumerate(flow.tensors):
        if facts.kept and not facts.leaf and facts.source is not None and tensor not in cyclic:
            by_line.setdefault(facts.source, []).append(tensor)
    for made_at, tensors in by_line.items():
        rows = sorted(row for tensor in tensors for row in flow.made_in.get(tensor, ()) if flow.has_node(row))
        begins = [run.begin for run in flow.runs if is_elsewhere(run, made_at)]
        steps = sum(bisect_left(begins, one) < bisect_left(begins, other) for one, other in pairwise(rows))
        if steps + 1 >= SERIES and not _only_saved(flow, made_at, tensors):
            recorded = [tensor for tensor in tensors if flow.made_in.get(tensor)]  # others are of steps not kept
            yield Kept(made_at, recorded, steps + 1 + len(tensors) - len(recorded))
        elif steps + 1 < SERIES and len(ends := ends_of_passes(flow, tensors)) >= SERIES:
            yield Kept(made_at, ends, len(ends))


def _only_saved(flow: Flow, made_at: SourceLine | None, tensors: list[int]) -> bool:
    """Whether results live because calls saved them whose own results the program has: those alone are kept."""
    if any(flow.spelling.has_name(tensor) for tensor in tensors) or put_away(flow, "", made_at) is not None:
        return False
    saved = all(
        any(tensor in flow.events[row].data.get("saves", ()) for row in flow.used_in.get(tensor, ()))
        for tensor in tensors
    )
    others = [tensor for tensor, facts in enumerate(flow.tensors) if facts.kept and facts.source != made_at]
    return saved and flow.leading_to(others).issuperset(tensors)


def _kept_meanwhile(flow: Flow, cyclic: set[int]) -> Iterator[Kept]:
    """Yield each line whose results of many steps lived at once for a while, and no later run used them.

    As those of a list that is a local variable of a function which has returned when the program ends.
    """
    losses = [run for run in flow.runs if run.accumulates and not run.inputs and not run.nested and not run.error]
    taken = Counter(row for run in losses for row in flow.reached_by(run).calls)
    by_line: dict[SourceLine | None, dict[int, int]] = {}
    for tensor, facts in enumerate(flow.tensors):
        lived = facts.lasted is not None and not facts.kept and tensor not in cyclic
        if lived and not facts.leaf and facts.source is not None:
            rows = [row for row in flow.made_in.get(tensor, ()) if flow.has_node(row)]
            if rows and taken[rows[-1]] <= 1:
                by_line.setdefault(facts.source, {})[rows[-1]] = tensor
    since = _counted(flow)
    later = {row for run in losses if run.begin >= since for row in flow.reached_by(run).calls}
    ends = flow.optimizer_steps or [run.begin for run in losses]  # a step may have many losses and keep them to its end
    for made_at, tensors in by_line.items():
        rows = sorted(tensors.keys() - later)
        steps = sum(bisect_right(ends, one) < bisect_left(ends, other) for one, other in pairwise(rows))
        if steps + 1 >= SERIES:
            yield Kept(made_at, [tensors[row] for row in rows], steps + 1, perhaps_more=True)


def _collected(flow: Flow, already: set[SourceLine | None]) -> Iterator[Case]:
    """Yield a case for each line whose results of many forward passes were kept with their graphs until joined."""
    reported = set(already)
    for tensors in collected_passes(flow):
        case = kept_cases(flow, [Kept(flow.facts(tensors[-1]).source, tensors, len(tensors))])[0]
        if case.source not in reported:
            reported.add(case.source)
            remedy = f"{case.remedy}; evaluate under torch.no_grad()"
            yield replace(case, severity="warning", remedy=remedy)


def _counted(flow: Flow) -> int:
    """Return the row at which living tensors were counted last."""
    return max((facts.lasted for facts in flow.tensors if facts.lasted is not None), default=len(flow.events))


def _kept_on_ctx(flow: Flow) -> Iterator[Case]:
    """Yield a case for each custom Function that keeps an output as an attribute of ctx."""
    reported = set()
    for row, event, name in _outputs_on_ctx(flow):
        if event.op in reported:
            continue
        reported.add(event.op)
        line = event.data.get("kept_lines", {}).get(name)
        defined = event.data.get("forward_line") or []
        source = SourceLine(defined[0], line, defined[2]) if line and len(defined) == 3 else event.source
        yield Case(
            kind="ctx-leak",
            message=f"{event.op}.forward stores its output on ctx.{name}{at(source)}: output, node and ctx hold "
            "each other in a cycle, and the memory stays until the garbage collector comes by.",
            remedy="ctx.save_for_backward(...), which knows its own outputs",
            source=source,
            op=event.op,
            marks=flow.marks(flow.run_after(row), [row], "kept by itself"),
        )


def _outputs_on_ctx(flow: Flow) -> Iterator[tuple[int, Event, str]]:
    """Yield the row and event of each forward of a custom Function that keeps an output, and the attribute of ctx."""
    for row, event in flow.of_kind("function", action="forward"):
        kept = [name for name, what in event.data.get("kept", {}).items() if what == "output"]
        if kept:
            yield row, event, kept[0]


def _cycles(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line of ``backward(create_graph=True)`` whose gradients are never set to None."""
    by_line: dict[SourceLine | None, list[Run]] = {}
    for run in flow.runs:
        if run.began.get("create_graph") and run.accumulates and not run.error:
            by_line.setdefault(run.source, []).append(run)
    for source, runs in by_line.items():
        pairs = zip(runs, [*runs[1:], None], strict=True)
        lefts = [left for run, following in pairs if (left := _never_cleared(flow, run, following))]
        if lefts:
            yield _cycle_case(flow, source, lefts, len(runs))


def _cycle_case(flow: Flow, source: SourceLine | None, lefts: list[list[int]], passes: int) -> Case:
    """Return the case of one line; ``lefts`` are the leaves of each pass whose gradient stayed where it was."""
    names = list(dict.fromkeys(flow.name(leaf) for leaf in lefts[0]))
    alone = len(names) == 1
    cleared = f"{in_code(names[0])}.grad = None after use" if alone else "set .grad of each of them to None after use"
    count = f"each of {counted(passes, 'pass')}" if len(lefts) == passes else f"{len(lefts)} of {passes} passes"
    return Case(
        kind="create-graph-cycle",
        message=f"backward(create_graph=True){at(source)} gives {listed(f'{name}.grad' for name in names)} a history "
        f"that leads back to {names[0] if alone else 'them'}, a cycle that nothing breaks: the graph of {count} "
        "stays in memory.",
        remedy=f"torch.autograd.grad(..., create_graph=True), or {cleared}",
        source=source,
        op="backward",
        subjects=frozenset(lefts[0]),
    )


def _held_by_gradients(flow: Flow, case: Case) -> bool:
    """Whether what is kept is only reachable through gradients with a history."""
    if any(flow.facts(tensor).holder for tensor in case.subjects):
        return False
    runs = [run for run in flow.runs if run.began.get("create_graph") and run.accumulates]
    reached = set().union(*(flow.reached_by(run).tensors for run in runs))
    return reached.issuperset(case.subjects)


def _never_cleared(flow: Flow, run: Run, following: Run | None) -> list[int]:
    """Return the leaves whose ``.grad`` of one pass still exists when the next one of its line begins, or at the end.

    An optimizer clears at the head of its loop, so what its last step leaves behind does not count.
    """
    until = len(flow.events) if following is None else following.begin
    left = []
    for leaf, arrivals in flow.accumulated.items():
        cleared_at = [row for change in _CLEARING for row in flow.leaf_events.get((leaf, change), ())]
        habit = following is None and any(row < run.begin for row in flow.leaf_events.get((leaf, "zero_grad"), ()))
        cleared = habit or any(run.end < row < until for row in cleared_at)
        if not cleared and any(run.begin < row < run.end for row in arrivals):
            left.append(leaf)
    return left
