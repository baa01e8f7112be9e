"""Parameters that are not the tensors that a program trains: recreated, computed, repeated, half complex."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

from ...program.places import SourceLine
from ..base import Case, Check
from ..facts.flow import Flow
from ..roles.trained import is_parameter, kept_results, without_use
from ..roles.unused import lines_to
from ..text.words import at, counted, named
from ..thresholds import HABIT


def find(flow: Flow) -> Iterator[Case]:
    """Yield the cases of this family; their kinds are those of wrong optimizers and of missing copies."""
    if flow.ledger.steps and flow.accumulated:
        yield from multiplied(flow)
        yield from remade(flow)
        yield from derived(flow)
        yield from halved(flow)


CHECK = Check("unused", {}, find)


# -- results of a parameter that are kept and used in its place: ``Parameter(...).clone()``, ``* 0.1``


def derived(flow: Flow) -> Iterator[Case]:
    """Yield a case for each parameter of which a result, made once and before the training, is used in its place."""
    begins = [run.begin for run in flow.runs]
    for result, (leaf, row) in kept_results(flow).items():
        stretches = {bisect_left(begins, use) for use in flow.used_in.get(result, ()) if use > row}
        if len(stretches - {len(begins)}) >= HABIT:
            yield _derived_case(flow, leaf, row, result, len(stretches))


def _derived_case(flow: Flow, leaf: int, row: int, result: int, passes: int) -> Case:
    """Return the case of one parameter."""
    event, name = flow.events[row], flow.name(result)
    return Case(
        kind="optimizer-mismatch",
        message=f"{name} is not a leaf: {event.written} computed it from a parameter{at(event.source)}, only once, and "
        f"{passes} passes use it. The gradient goes to the tensor before {event.written}, which no optimizer has, so "
        f"{name} never changes.",
        remedy=f"make {name} itself the parameter: torch.nn.Parameter(...) around the finished value",
        source=event.source,
        op=event.op,
        subjects=frozenset([leaf, result]),
        evidence={"leaf": flow.name(leaf), "result": name},
    )


# -- one layer, multiplied in a list: ``[Layer(...)] * n`` has the same weights n times


def multiplied(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that makes layers once and lists them again and again, if passes use them so."""
    run = next((run for run in reversed(flow.runs) if run.accumulates and not run.error), None)
    calls = flow.reached_by(run).calls if run is not None else set()
    by_line: dict[SourceLine, dict[int, int]] = {}
    for leaf in sorted(flow.accumulated):
        times = len(calls.intersection(flow.used_in.get(leaf, ())))
        line = _multiplying(flow, leaf) if times >= HABIT else None
        if line is not None:
            by_line.setdefault(line, {})[leaf] = times
    for line, leaves in by_line.items():
        yield _multiplied_case(flow, line, leaves)


def _multiplying(flow: Flow, leaf: int) -> SourceLine | None:
    """Return the line on the stack when a leaf was made that multiplies a list of what it calls for."""
    return next((line for line in lines_to(flow, leaf) if _multiplied(flow, line)), None)


def _multiplied(flow: Flow, line: SourceLine) -> tuple[ast.expr, ...]:
    """Return the two sides of ``[made(...)] * n`` in a line, the list first."""
    tree = flow.spelling.statement(line)
    for part in ast.walk(tree) if tree is not None else ():
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult):
            for side, other in ((part.left, part.right), (part.right, part.left)):
                if isinstance(side, ast.List) and any(isinstance(one, ast.Call) for one in side.elts):
                    return side, other
    return ()


def _multiplied_case(flow: Flow, line: SourceLine, leaves: dict[int, int]) -> Case:
    """Return the case of one line."""
    sides = _multiplied(flow, line)
    made, count = map(ast.unparse, sides)
    single = isinstance(sides[0], ast.List) and len(sides[0].elts) == 1
    each = f"{made[1:-1]} for _ in range({count})" if single else f"one for _ in range({count}) for one in {made}"
    times = max(leaves.values())
    return Case(
        kind="missing-copy",
        message=f"every pass goes {counted(times, 'time')} through the same {named(flow, leaves)}: "
        f"{made} * {count}{at(line)} makes one object and lists it again and again.",
        remedy=f"[{each}], which makes one for each place",
        source=line,
        severity="warning",
        subjects=frozenset(leaves),
        evidence={"times": times},
    )


# -- parameters that are recreated in each pass, or copied from those that an optimizer has


def remade(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that makes new parameters in every pass."""
    served = _runs_served(flow)
    runs: dict[int, set[int]] = defaultdict(set)
    for run in flow.runs:
        for leaf in flow.arrival_rows(run):
            runs[leaf].add(run.number)
    lines: dict[SourceLine | None, list[int]] = defaultdict(list)
    for leaf in sorted(without_use(flow)):
        if len(runs[leaf]) == 1 and runs[leaf] <= served and _is_fresh(flow, leaf):
            lines[flow.facts(leaf).source].append(leaf)
    idle = [leaf for leaf in flow.optimized if leaf not in flow.got_gradient]
    for source, leaves in lines.items():
        passes = set().union(*(runs[leaf] for leaf in leaves))
        copied = _copied(flow, leaves, idle)
        if len(passes) >= HABIT and (copied or all(is_parameter(flow, leaf) for leaf in leaves)):
            yield _remade_case(flow, source, leaves, copied, len(passes))


def _runs_served(flow: Flow) -> set[int]:
    """Return the numbers of the backward passes of which a step used a gradient."""
    found = set[int]()
    for step in flow.ledger.steps:
        for leaf in step.held:
            rows = flow.ledger.fresh(step, leaf)
            if rows:
                found.update(flow.events[row].data.get("run", -1) for row in rows)
                break
    return found


def _is_fresh(flow: Flow, leaf: int) -> bool:
    """Whether a leaf came up after the pass before the one that it gets a gradient in."""
    uses = flow.used_in.get(leaf, ())
    arrived = flow.accumulated[leaf][0]
    ended = [run.end for run in flow.runs if run.accumulates and run.end < arrived and run.begin < arrived]
    made = flow.facts(leaf).made_by
    first = min([*uses[:1], *([] if made is None else [made])], default=-1)
    return first > max(ended, default=-1)


def _copied(flow: Flow, leaves: list[int], idle: list[int]) -> list[int]:
    """Return what an optimizer needlessly holds, if it has the shapes of what the passes use instead."""
    shapes = {flow.facts(leaf).shape for leaf in leaves}
    found = [leaf for leaf in idle if flow.facts(leaf).shape in shapes]
    return found if shapes == {flow.facts(leaf).shape for leaf in found} else []


def _remade_case(flow: Flow, source: SourceLine | None, leaves: list[int], copied: list[int], passes: int) -> Case:
    """Return the case of one line."""
    names = named(flow, leaves)
    if copied:
        originals = named(flow, copied)
        what = f"each of {counted(passes, 'pass').replace('passs', 'passes')}{at(source)} goes through other tensors "
        what += f"than {originals}, which the optimizer has: through others made for that pass"
        remedy = f"use {originals} themselves, not a copy of them"
    else:
        what = f"{names}: new parameters are made{at(source)} in each of {passes} passes"
        remedy = "make them once, in __init__, as attributes of the module, before the optimizer is made"
    return Case(
        kind="optimizer-mismatch",
        message=f"{what}; what these learn is thrown away with them, and no optimizer ever has them.",
        remedy=remedy,
        source=source,
        op="Parameter",
        subjects=frozenset([*leaves, *copied]),
        evidence={"leaves": [flow.name(leaf) for leaf in copied or leaves], "passes": passes},
    )


# -- complex parameters of which only the real part is left


def halved(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that gives complex parameters real memory."""
    lines: dict[SourceLine | None, list[int]] = defaultdict(list)
    for row, event in flow.of_kind("leaf", change="written"):
        leaf, given = event.data.get("tensor", -1), event.data.get("given", -1)
        trained = given >= 0 and leaf in flow.accumulated and row < flow.accumulated[leaf][0]
        dtypes = [flow.facts(one).dtype for one in (leaf, given)] if trained else []
        if dtypes and dtypes[0].startswith("complex") and not dtypes[1].startswith("complex"):
            lines[event.source].append(leaf)
    for source, leaves in lines.items():
        names, one = named(flow, leaves), len(leaves) == 1
        yield Case(
            kind="optimizer-mismatch",
            message=f"{names} {'is' if one else 'are'} complex and made real{at(source)}: the imaginary part, and with "
            "it the phase, is dropped and never learned.",
            remedy="leave the dtype of complex parameters as it is: .to(device) alone, or .to(torch.complex64)",
            source=source,
            severity="warning",
            subjects=frozenset(leaves),
            evidence={"leaves": [flow.name(leaf) for leaf in leaves]},
        )
