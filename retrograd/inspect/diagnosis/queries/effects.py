"""Effects that are certain whatever caused them; ``--explain`` shows those that no finding is about.

A rule may have skipped one because of evidence against a finding, or because no rule knows the cause: the user should
learn about the effect nonetheless.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...program.places import SourceLine
from ..base import Case
from ..facts.calls import held_by
from ..facts.finite import bad_runs
from ..facts.flow import Flow
from ..text.words import at, counted, named
from ..thresholds import HABIT, NOTHING


def certain_effects(flow: Flow) -> Iterator[Case]:
    """Yield certain problems: stepped without a gradient, zero throughout, not finite."""
    yield from _without_gradient(flow)
    yield from _zero_throughout(flow)
    yield from _not_finite(flow)


def _without_gradient(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line whose leaves an optimizer steps and no pass ever gave a gradient."""
    stepped = set().union(*(held_by(flow.events[row]) for row in flow.optimizer_steps))
    lacking = stepped - flow.got_gradient - flow.ledger.given_by_hand - flow.accumulated.keys()
    wanted = [leaf for leaf in sorted(lacking) if flow.is_leaf(leaf) and flow.requires_grad(leaf)]
    passes = sum(run.accumulates for run in flow.runs)
    roots = {root for run in flow.runs for root in run.roots}
    leading = flow.leading_to(roots) if wanted else set()
    for source, leaves in _by_line(flow, [leaf for leaf in wanted if flow.switched_off(leaf) is None]):
        used = [leaf for leaf in leaves if flow.used_in.get(leaf)]
        known = "no recorded call uses them" if not used else "what is computed from them reaches no loss"
        known = "their values reach a loss, on a path that may be cut intentionally" if leading & set(used) else known
        yield Case(
            kind="unused-parameter",
            message=f"{named(flow, leaves)} got no gradient in {counted(passes, 'backward pass')}, and an "
            "optimizer that steps has them.",
            source=source,
            subjects=frozenset(leaves),
            against=f"no rule knows the cause: {known}",
        )


def _zero_throughout(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line whose leaves got nothing but zeros, pass after pass."""
    zero = [leaf for leaf, runs in flow.norms_of.items() if len(runs) >= HABIT and all(map(_is_nothing, runs))]
    for source, leaves in _by_line(flow, zero):
        yield Case(
            kind="zero-gradient",
            message=f"the gradient of {named(flow, leaves)} is zero in each of "
            f"{counted(len(flow.norms_of[leaves[0]]), 'backward pass')}.",
            source=source,
            subjects=frozenset(leaves),
            against="no rule knows the cause: where it becomes zero, nothing is known to be flat, off or zero itself",
        )


def _is_nothing(norms: list[float | None]) -> bool:
    return all(norm is not None and norm <= NOTHING for norm in norms)


def _not_finite(flow: Flow) -> Iterator[Case]:
    """Yield the case of the first run whose loss or gradients are not finite."""
    run = next(bad_runs(flow), None)
    if run is not None:
        yield Case(
            kind="nan-origin",
            message=f"{flow.root_name(run)} of backward{at(run.source)}, or a gradient of it, is not finite.",
            source=run.source,
            subjects=frozenset(run.roots),
            against="no rule knows the cause: no values were recorded of the call that made the first one",
        )


def _by_line(flow: Flow, leaves: Iterable[int]) -> Iterator[tuple[SourceLine | None, list[int]]]:
    """Yield lines with the leaves that each made."""
    found: dict[SourceLine | None, list[int]] = {}
    for leaf in leaves:
        found.setdefault(flow.facts(leaf).source, []).append(leaf)
    yield from found.items()
