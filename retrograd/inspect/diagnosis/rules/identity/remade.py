"""Parameters that are made anew in each pass, or copied from those that an optimizer has: what they get is lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ....graphs.graph import SourceLine
from ...base import Case
from ...facts.flow import Flow
from ...roles.trained import is_parameter, without_use
from ...text.words import at, counted, listed
from ...thresholds import HABIT


def remade(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line at which pass after pass gets parameters of its own."""
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
            yield _case(flow, source, leaves, copied, len(passes))


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
    """Return what an optimizer holds for nothing, if it has the shapes of what the passes use in its place."""
    shapes = {flow.facts(leaf).shape for leaf in leaves}
    found = [leaf for leaf in idle if flow.facts(leaf).shape in shapes]
    return found if shapes == {flow.facts(leaf).shape for leaf in found} else []


def _case(flow: Flow, source: SourceLine | None, leaves: list[int], copied: list[int], passes: int) -> Case:
    """Return the case of one line."""
    names = listed(flow.name(leaf) for leaf in leaves)
    if copied:
        originals = listed(flow.name(leaf) for leaf in copied)
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
