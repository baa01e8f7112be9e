"""Evidence for each case and against it: what the recording knows of its leaves, its tensors, its calls and its passes.

A rule says by ``because`` and ``against`` what it alone asked.  What any rule asks of the ledger and of the calls is
gathered here, for all rules alike; ``--explain`` shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..base import Case
from ..facts.flow import Flow
from ..facts.optimizers import optimizer_name
from ..text.words import at, counted, listed, named, place, times
from ..thresholds import HABIT, SHOWN_TENSORS


def with_evidence(flow: Flow, case: Case) -> Case:
    """Return a case with what speaks for it and against it."""
    leaves = sorted(flow.trainable(case.subjects))
    speaks = (*case.because, *_of_leaves(flow, leaves), *_of_tensors(flow, case, leaves), *_of_calls(flow, case))
    against = [*filter(None, [case.against]), *_doubts(flow, case, leaves)]
    return replace(case, because=tuple(dict.fromkeys(speaks)), evidence={**case.evidence, "against": against})


def _of_leaves(flow: Flow, leaves: Iterable[int]) -> Iterator[str]:
    """Yield what the ledger has of leaves, those of which it has the same together."""
    alike: dict[str, list[int]] = {}
    for leaf in leaves:
        alike.setdefault(_ledger_of(flow, leaf), []).append(leaf)
    yield from (f"{named(flow, together)}: {known}" for known, together in alike.items())


def _ledger_of(flow: Flow, leaf: int) -> str:
    """Return who has a leaf, how often a gradient arrived, and how often a step changed its values."""
    ledger = flow.ledger
    owners = [optimizer_name(flow, one) for one in ledger.optimizers.values() if leaf in one.leaves]
    steps = ledger.steps_of.get(leaf, [])
    changed = sum(not step.leaves_alone(leaf) for step in steps if step.effects_known)
    passes = sum(run.accumulates and not run.nested for run in flow.runs)
    arrived = f"{counted(len(flow.accumulated.get(leaf, ())), 'gradient')} in {counted(passes, 'backward pass')}"
    held = f"{listed(owners)} has it, and {changed} of {counted(len(steps), 'step')} changed it"
    held = held if owners else "no optimizer has it"
    return f"{arrived}; {held}"


def _of_tensors(flow: Flow, case: Case, leaves: list[int]) -> Iterator[str]:
    """Yield how results that a case is about were made and used."""
    for tensor in sorted(case.subjects.difference(leaves))[:SHOWN_TENSORS]:
        made = flow.last_producer(tensor, len(flow.events))
        how = (
            "no recorded call made it"
            if made is None
            else f"made by {flow.events[made].op}{at(flow.events[made].source)}"
        )
        history = "with a history" if flow.has_history(tensor) else "without a history"
        yield f"{flow.name(tensor)}: {how}, {history}, used by {counted(len(flow.used_in.get(tensor)), 'call')}"


def _of_calls(flow: Flow, case: Case) -> Iterator[str]:
    """Yield how often a case's call was made, and the exception that it explains."""
    rows = flow.made_at(case.source, case.op)
    if rows:
        nodes, called = sum(map(flow.has_node, rows)), times(len(rows))
        ends = [end for row in rows for limits in flow.events[row].data.get("range", ()) for end in limits or ()]
        known = [end for end in ends if end is not None]
        values = f", with results from {min(known):.4g} to {max(known):.4g}" if known else ""
        yield f"{case.op}{at(case.source)} was called {called}, {nodes} of these calls made a node{values}"
    if case.explains_error and flow.error is not None:
        yield f"the program ended with {flow.error.data.get('type', 'an exception')}{at(flow.error.source)}"


def _doubts(flow: Flow, case: Case, leaves: list[int]) -> Iterator[str]:
    """Yield what may speak against a case: that it was seen once, or that the program looks after its leaves itself."""
    passes = sum(not run.nested for run in flow.runs)
    if passes < HABIT and not case.explains_error:
        yield f"{counted(passes, 'backward pass')} {'was' if passes == 1 else 'were'} seen, which makes no habit"
    if case.source is not None and case.source.inside:
        yield f"the line is that of a package: {place(case.source)}"
    for what, rows_of in (("reads .grad of", flow.reads_of.get), ("writes into", flow.writes_into)):
        first = flow.runs[0].begin if flow.runs else 0
        rows = {leaf: [row for row in rows_of(leaf) or () if row > first] for leaf in leaves}
        done = [leaf for leaf in leaves if rows[leaf]]
        if done:
            yield f"the program itself {what} {named(flow, done)}{at(flow.events[rows[done[0]][0]].source)}"
    frozen = [leaf for leaf in leaves if flow.switched_off(leaf) is not None]
    if frozen:
        yield f"requires_grad was switched off for {named(flow, frozen)}{at(flow.frozen_at(frozen[0]))}"
