"""Results that are kept with their graphs: which line stores them, what holds them, what to keep instead."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from ....operators import Trait
from ....program.places import SourceLine
from ...base import Case
from ...facts.flow import Flow
from ...text.spelling import assigned, passed_on
from ...text.words import at, counted, listed
from ...thresholds import LONG_HISTORY, NEARLY_ALL, SERIES

NUMBERS = ((), (1,))
"""Shapes of a single number, as metrics are."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Results of one line, of many steps, that live on with their graphs."""

    made_at: SourceLine | None
    tensors: list[int]
    steps: int
    perhaps_more: bool = False
    """They were counted before the last step."""


def kept_cases(flow: Flow, found: Iterable[Kept]) -> list[Case]:
    """Return a case for each line that puts results away."""
    by_line: dict[SourceLine | None, dict[str, Kept]] = {}
    for kept in found:
        name = _name(flow, kept)
        by_line.setdefault(put_away(flow, name, kept.made_at) or kept.made_at, {}).setdefault(name, kept)
    return [_kept_case(flow, source, named) for source, named in by_line.items()]


def _name(flow: Flow, kept: Kept) -> str:
    """Return the program's name for results, the variable's if they only have a position in a list."""
    name = flow.name(kept.tensors[-1], kept.made_at)
    return name if name.isidentifier() else assigned(flow.spelling.text(kept.made_at)) or name


def _kept_case(flow: Flow, source: SourceLine | None, named: Mapping[str, Kept]) -> Case:
    """Return the case of the results that one line keeps, by their names."""
    kept = list(named.values())
    tensors = [tensor for one in kept for tensor in one.tensors]
    made = listed(f"{name}, made{at(one.made_at)}," for name, one in named.items())
    verb = "is kept with its graph" if len(kept) == 1 else "are kept with their graphs"
    steps = counted(max(one.steps for one in kept), "step")
    least = "at least " if any(one.perhaps_more for one in kept) else ""
    holder = next(filter(None, (_holder(flow, one.made_at) for one in kept)), "")
    held = f", held by {holder}" if holder else ""
    where = "" if len(kept) == 1 and source == kept[0].made_at else at(source)
    return Case(
        kind="graph-growth",
        message=f"{made} {verb}{where} in {least}{steps}{held}: memory grows from step to step.",
        remedy=_emptied(holder, _detaching(flow, named)),
        source=source,
        op=flow.events[flow.made_in[tensors[-1]][-1]].op,
        subjects=frozenset(tensors),
        evidence={"kept": len(tensors), "names": list(named)},
    )


def _detaching(flow: Flow, named: Mapping[str, Kept]) -> str:
    """Return what to keep in place of results with their graphs."""
    lasts = {name: kept.tensors[-1] for name, kept in named.items()}
    spelled = (
        flow.spelling.has_name(last) or assigned(flow.spelling.text(flow.facts(last).source)) for last in lasts.values()
    )
    if not all(spelled):
        return "call .detach() on what is kept, where it is stored"
    detached = listed(f"{name}.detach()" for name in lasts)
    numbers = all(flow.facts(last).shape in NUMBERS for last in lasts.values())
    return f"keep {listed(f'{name}.item()' for name in lasts)}, or {detached}" if numbers else f"keep {detached}"


def _holder(flow: Flow, made_at: SourceLine | None) -> str:
    """Return what holds the results of a line, according to the garbage collector."""
    return next((facts.holder for facts in flow.tensors if facts.holder and facts.source == made_at), "")


def _emptied(holder: str, remedy: str) -> str:
    """Return the fix for a holder: a cache keeps what its function returned."""
    if "lru_cache" in holder:
        return (
            f"no cache on what has a graph: compute it once a step and pass it on, or cache_clear() each step; {remedy}"
        )
    if "traceback" in holder:
        return f"keep str(error) in place of the exception, or error.with_traceback(None); {remedy}"
    return remedy


def put_away(flow: Flow, name: str, made_at: SourceLine | None) -> SourceLine | None:
    """Return the line that stores a result: directly, via the caller, or via a function that does."""
    spelling = flow.spelling
    found = spelling.appending(name, made_at) or (made_at and spelling.appending(made_at.function, made_at))
    return found or spelling.handing(name, made_at)


def ends_of_passes(flow: Flow, tensors: list[int]) -> list[int]:
    """Return those results of one line that each end a separate forward pass; none if one is used.

    All passes take the same leaves, each in calls of its own: terms of one loss and entries of one result do not, nor
    do states of a simulation, each of which is made of the one before.
    """
    ends = [one for one in tensors if flow.facts(one).shape in NUMBERS]
    passes = [flow.behind([one], len(flow.events)) for one in ends]
    leaves = [flow.leaves_behind(one) for one in passes]
    if not all(leaves) or any(one != other for one, other in pairwise(leaves)):
        return []
    if any(not _takes_leaves(flow, other.calls - one.calls) for one, other in pairwise(passes)):
        return []
    if any(earlier in later.tensors for earlier, later in zip(ends, passes[1:], strict=False)):
        return []
    made = set().union(*(one.calls for one in passes))
    return ends if all(made.isdisjoint(flow.reached_by(run).calls) for run in flow.runs) else []


def collected_passes(flow: Flow) -> Iterator[list[int]]:
    """Yield the results of one line that a call joins, each of a separate forward pass without a backward pass.

    As outputs of all batches are collected and joined at the end of an evaluation; until then each keeps its graph.
    """
    taken = set().union(*(flow.reached_by(run).calls for run in flow.runs))
    for kind in ("operation", "cut"):
        for row, _ in flow.of_kind(kind):
            parts = list(dict.fromkeys(flow.inputs(row))) if flow.does(row, Trait.JOINING) and row not in taken else []
            lines = {flow.facts(one).source for one in parts}
            if len(parts) >= SERIES and len(lines) == 1 and _are_passes(flow, parts, row, taken):
                yield parts


def _are_passes(flow: Flow, parts: list[int], row: int, taken: set[int]) -> bool:
    """Whether joined tensors are made by separate calls with the same leaves, which are weights."""
    if not all(flow.has_history(one, row) for one in parts):
        return False
    passes = [flow.behind([one], row) for one in parts]
    leaves = [flow.leaves_behind(one) for one in passes]
    if not leaves[0] or any(one != other for one, other in pairwise(leaves)):
        return False
    calls = [one.calls for one in passes]
    apart = sum(map(len, calls)) == len(set().union(*calls))
    return apart and taken.isdisjoint(calls[0]) and any(flow.facts(leaf).parameter for leaf in leaves[0])


def _takes_leaves(flow: Flow, calls: set[int]) -> bool:
    return any(flow.trainable(flow.inputs(row)) for row in calls)


def carried_for_nothing(flow: Flow) -> Iterator[Case]:
    """Yield a case for the first line that takes its own result again and again, while values leave at every step."""
    if flow.error is not None:
        return
    used = {row for run in flow.runs for row in flow.reached_by(run).calls}
    by_line: dict[tuple[SourceLine | None, str, frozenset[int]], list[int]] = {}
    for row in flow.rows.get("operation", ()):
        idle = row not in used and flow.has_node(row)
        weights = frozenset(flow.trainable(flow.inputs(row))) if idle else None
        if weights:
            by_line.setdefault((flow.events[row].source, flow.events[row].op, weights), []).append(row)
    long = [rows for rows in by_line.values() if len(rows) >= LONG_HISTORY]
    depth = _depths(flow, used) if long else {}
    chains = [links for rows in long if len(links := _chain(rows, depth)) >= LONG_HISTORY]
    found = [links for links in chains if _watched(flow, links) and _carrying(flow, links[-1])]
    if found:
        yield _case(flow, found[0])


def _carrying(flow: Flow, row: int) -> SourceLine | None:
    """Return the line on the stack of a call that both takes and sets a variable: ``h = cell(x, h)``."""
    return next((line for line in flow.lines(row) if passed_on(flow.spelling.text(line))), None)


def _depths(flow: Flow, used: set[int]) -> dict[int, int]:
    """Return, for each recorded call that no backward pass reached, how many such calls lie behind it in a row."""
    depth: dict[int, int] = {}
    for row in sorted([*flow.rows.get("operation", ()), *flow.rows.get("inplace", ())]):
        if row not in used and flow.has_node(row):
            made = (flow.last_producer(given, row, gradients=True) for given in flow.inputs(row))
            depth[row] = 1 + max((depth.get(one, 0) for one in made if one is not None), default=0)
    return depth


def _chain(rows: list[int], depth: dict[int, int]) -> list[int]:
    """Return the longest stretch of calls, each deeper in the graph than the one before."""
    best, begin = (0, 0), 0
    for place, (last, row) in enumerate(pairwise(rows), 1):
        if depth[row] <= depth[last]:
            begin = place
        best = max(best, (place + 1 - begin, begin))
    return rows[best[1] : best[1] + best[0]]


def _watched(flow: Flow, links: list[int]) -> bool:
    """Whether values with a history left for plain numbers in nearly every step: nothing else is wanted of them."""
    left = [row for row in flow.rows.get("cut", ()) if flow.does(row, Trait.READING)]
    steps = {bisect_left(links, row) for row in left}
    return len(steps - {0}) >= NEARLY_ALL * len(links)


def _case(flow: Flow, links: list[int]) -> Case:
    """Return the case of one chain."""
    event = flow.events[links[-1]]
    source = _carrying(flow, links[-1])
    name = passed_on(flow.spelling.text(source))
    return Case(
        kind="graph-growth",
        message=f"the graph behind {name} grows with every step: it is carried over{at(source)} with its history, "
        f"{counted(len(links), 'step')} long by now, although only plain numbers are read from it.",
        remedy=f"evaluate under torch.no_grad(), or {name} = {name}.detach() in every step",
        source=source,
        op=event.op,
        subjects=frozenset(flow.outputs(links[-1])),
        evidence={"steps": len(links)},
    )
