"""Running sums: a result with history is added to in every step, and no backward pass frees it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ....operators import Trait
from ....program.places import SourceLine
from ...base import Case
from ...facts.flow import Flow
from ...facts.row_table import Reached
from ...facts.runs import Run
from ...text.spelling import rebound
from ...text.words import at, counted
from ...thresholds import SERIES
from .kept import NUMBERS

_GATHERING = (Trait.JOINING, Trait.WRITING, Trait.EXTREME, Trait.FILLING)
"""Traits of other operators whose result contains both earlier values and new ones."""


def running_sums(flow: Flow, kept: set[int], chained: set[int]) -> Iterator[Case]:
    """Yield a case for each line that adds a result with history to a sum which nothing ever runs backward.

    ``chained`` gets what is part of it.  A sum, made at the end, over what the program ``kept`` of all steps holds
    nothing that was not there before.
    """
    used = set()
    for run in flow.runs:
        used |= flow.reached_by(run).calls
    walked = {flow.events[row].source for row in used}  # a loop of a model, whose history is one pass long
    by_line: dict[SourceLine | None, list[int]] = {}
    for kind in ("operation", "inplace"):
        for row, event in flow.of_kind(kind):
            if flow.has_node(row) and row not in used:
                by_line.setdefault(event.source, []).append(row)
    for source, rows in by_line.items():
        links = _links(flow, sorted(rows))
        between = _passes_between(flow, source, links, used)
        number = bool(links) and flow.facts(flow.outputs(links[0])[0]).shape in NUMBERS
        if not number and between < SERIES:
            continue
        if not between and (source in walked or _gathers(flow, links) or not _terms_of_passes(flow, links, used)):
            continue
        if not between and sum(not kept.isdisjoint(flow.inputs(row)) for row in links) >= 2:
            continue
        if len(links) >= SERIES or (between >= 2 and len(links) >= 2):
            chained.update(*(flow.inputs(row) for row in links), *(flow.outputs(row) for row in links))
            yield _sum_case(flow, source, links)


def _passes_between(flow: Flow, source: SourceLine | None, links: list[int], used: set[int]) -> int:
    """Count the backward passes of other lines between the links of a sum.

    Calls of ``autograd.grad`` alone, as in an inner loop, count only if the sum outlasts a step of an optimizer, or if
    they began at its terms: what is added up over the tasks of one step, and is gone with it, does not grow.
    """
    between = [run for run in flow.runs if links and links[0] < run.begin < links[-1] and is_elsewhere(run, source)]
    if any(run.accumulates for run in between) or (between and flow.stepped_between(links[0], links[-1])):
        return len(between)
    terms = {flow.last_producer(given, links[-1]) for given in flow.inputs(links[-1])} if between else set()
    return 0 if terms.isdisjoint(used) else len(between)


def _is_sum(flow: Flow, row: int) -> bool:
    """Whether a call adds two tensors, as a layer does not that multiplies one of them first."""
    return flow.does(row, Trait.ADDITION) and flow.does(row, Trait.ELEMENTWISE)


def _gathers(flow: Flow, links: list[int]) -> bool:
    """Whether a chain collects its inputs, or selects from them, rather than adding them."""
    return bool(links) and not _is_sum(flow, links[-1]) and flow.does(links[-1], *_GATHERING)


def _terms_of_passes(flow: Flow, links: list[int], used: set[int]) -> bool:
    """Whether the last terms of a sum may come from separate forward passes, none ``used`` by a backward pass.

    Norms of weights come from leaves of their own, which steps share.  In a simulation each comes from the one before.
    """
    terms: list[Reached] = []
    for before, row in pairwise(links[-SERIES:]):
        carried = set(flow.outputs(before))
        if not carried.isdisjoint(flow.inputs(row)):  # else what was made of the sum so far is added to something
            terms.append(flow.behind(set(flow.inputs(row)) - carried, row))
    leaves = [flow.leaves_behind(term) for term in terms[-2:]]
    if len(terms) < 2 or not all(leaves):
        return True
    calls = terms[-1].calls
    return not leaves[0].isdisjoint(leaves[1]) and calls.isdisjoint(terms[-2].calls) and calls.isdisjoint(used)


def _links(flow: Flow, rows: list[int]) -> list[int]:
    """Return the sums of one line, each of the previous sum, perhaps scaled."""
    links: list[int] = []
    made: set[int] = set()
    for row in rows:
        out = flow.outputs(row)
        if not out:
            continue
        carried = bool(made & set(flow.inputs(row)))
        if (_is_sum(flow, row) or flow.does(row, *_GATHERING)) and (carried or not links):
            links.append(row)
            made = set(out)
        elif carried:
            made.update(out)
    return links


def _sum_case(flow: Flow, source: SourceLine | None, links: list[int]) -> Case:
    """Return the case of one running sum."""
    total = flow.outputs(links[-1])[0]
    named = flow.spelling.has_name(total)
    name, added = (flow.name(total, source), f"{flow.name(total, source)} +=") if named else ("the sum", "add")
    calls = len(flow.behind([total], len(flow.events)).calls)
    mine = {out for row in links[:-1] for out in flow.outputs(row)}
    others = [t for t in flow.inputs(links[-1]) if t not in mine and flow.spelling.has_name(t)]
    term = flow.name(others[-1], source) if others else _scaled(flow, links[-1], mine, source)
    named = term.isidentifier()
    term = term if named else "loss"
    target = rebound(flow.spelling.text(source))
    gathered = _gathers(flow, links)
    if target or gathered:
        name, replaced = target or name, f"{term}.detach() in place of {term} in that line"
        replaced = replaced if named else f"{target or '...'} = (...).detach() in that line"
    elif flow.facts(total).shape in NUMBERS:
        replaced = f"{added} {term}.item(), or {term}.detach()"
    else:
        replaced = f"{added} {term}.detach()"
    return Case(
        kind="graph-growth",
        message=f"the graph behind {name} grows with every step: line{at(source)[3:]} adds a tensor with its history "
        f"({counted(calls, 'operation')} with all they saved after "
        f"{counted(len(links), 'call' if gathered else 'addition')}), and no backward frees it.",
        remedy=f"{replaced}; evaluate under torch.no_grad()",
        source=source,
        op=flow.events[links[-1]].op,
        subjects=frozenset({total}),
        evidence={"additions": len(links), "operations": calls},
    )


def _scaled(flow: Flow, row: int, mine: set[int], line: SourceLine | None) -> str:
    """Return the name of a summand that is multiplied by something."""
    for given in flow.inputs(row):
        made = flow.last_producer(given, row)
        factors = flow.inputs(made) if made is not None and mine.isdisjoint(flow.inputs(made)) else []
        named = [flow.name(one, line) for one in factors if flow.spelling.has_name(one) and not flow.is_leaf(one)]
        if named:
            return named[0]
    return ""


def is_elsewhere(run: Run, line: SourceLine | None) -> bool:
    """Whether a pass is from another line: repeated passes of one statement are not a loop."""
    return run.source is None or line is None or run.source[:2] != line[:2]
