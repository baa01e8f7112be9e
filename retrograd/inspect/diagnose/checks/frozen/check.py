"""Parameters whose ``requires_grad`` was switched off although their gradient is wanted."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise

from ....snapshot import SourceLine
from ...base import Case, Check, Kind, Stage
from ...meaning.expected_gradients import made_since
from ...meaning.frozen_leaves import frozen_before, trained_then_frozen
from ...phrases import NO_GRAPH, NOT_REQUIRED
from ...recorded.flow import Flow
from ...recorded.refused_runs import run_without_graph
from ...recorded.runs import Run
from ...words import at, counted, in_code, listed
from .by_name import caught_by_name
from .in_optimizers import held_for_nothing
from .stray_switches import thawed_in_vain

KINDS = {"frozen-parameter": Kind("`requires_grad` was switched off, or never on", "error", Stage.STATEMENT)}


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that froze what a program goes on to train."""
    failed = run_without_graph(flow)
    frozen = _behind(flow, failed) if failed is not None else _frozen_amid_training(flow)
    by_line: dict[SourceLine | None, list[int]] = {}
    for leaf, row in frozen.items():
        by_line.setdefault(flow.events[row].source, []).append(leaf)
    for source, leaves in by_line.items():
        yield _case(flow, leaves, source, failed)
    if failed is not None and not frozen and NO_GRAPH in flow.error_text:
        yield from _never_on(flow, failed)
    yield from _asked_in_vain(flow)
    yield from held_for_nothing(flow)
    yield from caught_by_name(flow)
    yield from thawed_in_vain(flow)


CHECK = Check("chain", KINDS, find)


def _behind(flow: Flow, run: Run) -> dict[int, int]:
    """Return the frozen tensors behind a loss that has no graph, each with the row that froze it."""
    trained = trained_then_frozen(flow, run)
    if trained:
        return trained
    tensors = flow.values_behind(run).tensors
    if any(flow.requires_grad(tensor, run.begin) for tensor in tensors):
        return {}
    return frozen_before(flow, sorted(tensors), run.begin)


def _never_on(flow: Flow, run: Run) -> Iterator[Case]:
    """Yield the case of a loss of nothing but tensors that were made without ``requires_grad``."""
    behind = flow.values_behind(run)
    if any(flow.requires_grad(tensor, run.begin) for tensor in behind.tensors):
        return
    floating = (
        one for one in sorted(behind.tensors) if flow.facts(one).dtype.startswith(("float", "bfloat", "complex"))
    )
    leaves = [one for one in floating if not any(flow.inputs(row) for row in flow.made_in.get(one, ()))]
    named = [one for one in leaves if flow.spelling.has_name(one)] or leaves
    if not named:
        return
    names, root = listed(flow.name(one) for one in named), flow.root_name(run)
    alone = len(named) == 1 and flow.spelling.has_name(named[0])
    remedy = f"{in_code(names)}.requires_grad_(True)" if alone else "requires_grad_(True) of what is to be trained,"
    yield Case(
        kind="frozen-parameter",
        message=f"nothing that {root} depends on requires grad: {names} {'was' if len(named) == 1 else 'were'} made "
        f"without requires_grad=True{at(flow.facts(named[0]).source)}, so backward(){at(run.source)} has no graph.",
        remedy=f"{remedy} before the forward pass",
        source=flow.facts(named[0]).source,
        op="requires_grad_",
        subjects=frozenset(named),
        explains_error=True,
        evidence={"frozen": [flow.name(one) for one in named]},
    )


def _frozen_amid_training(flow: Flow) -> dict[int, int]:
    """Return the tensors that were trained, then frozen, and whose optimizer went on without a gradient for them.

    Other networks train on while one is frozen, as a critic is for the generator's step: only its own tells.
    """
    found: dict[int, int] = {}
    held = flow.optimized
    last_run = flow.runs[-1].begin if flow.runs else -1
    for leaf, arrivals in flow.accumulated.items():
        row = flow.switched_off(leaf)
        following = None if row is None else flow.run_after(row)
        if row is not None and following is not None and arrivals[0] < row and _goes_on(flow, leaf, following.begin):
            found[leaf] = row
    never = [leaf for leaf in held if leaf not in flow.accumulated]
    idle = bool(held) and len(never) == len(held) and last_run > 0  # the optimizer has nothing at all to do
    if idle and not made_since(flow, flow.accumulated.keys() - held.keys(), min(held.values())):
        found |= frozen_before(flow, never, last_run)
    return found


def _goes_on(flow: Flow, leaf: int, begin: int) -> bool:
    """Whether a leaf's optimizer, after a row, steps or clears twice without a gradient that arrived in between."""
    arrivals = flow.accumulated[leaf]
    for action in ("step", "zero_grad"):
        uses = flow.leaf_events.get((leaf, action), [])
        vain = (bisect_left(arrivals, last) == bisect_left(arrivals, use) for last, use in pairwise([-1, *uses]))
        if any(nothing and use > begin for use, nothing in zip(uses, vain, strict=True)):
            return True
    return False


def _case(flow: Flow, leaves: list[int], source: SourceLine | None, failed: Run | None) -> Case:
    """Return the case of one line that froze."""
    names = listed((flow.name(leaf) for leaf in leaves), most=8)
    root = flow.root_name(failed)
    freezing = f"requires_grad was switched off{at(source)} for {counted(len(leaves), 'parameter')}: {names}"
    if failed is not None:
        message = f"nothing that {root} depends on requires grad: {freezing}, which is every one behind {root}."
    else:
        message = f"{freezing}; the optimizer steps on, but they get no gradient."
    return Case(
        kind="frozen-parameter",
        message=message,
        remedy="freeze only what is meant (compare whole names or prefixes with their dot), or switch it on again: "
        "p.requires_grad_(True)",
        source=source,
        op="requires_grad_",
        subjects=frozenset(leaves),
        explains_error=failed is not None and bool(failed.error),
        evidence={"frozen": [flow.name(leaf) for leaf in leaves]},
    )


def _asked_in_vain(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that left ``autograd.grad`` nothing to ask for: the tensor does not require grad.

    Only if that ended the program: who catches the refusal only tried.
    """
    failed = flow.runs[-1] if flow.runs and NOT_REQUIRED in flow.error_text else None
    if failed is None or NOT_REQUIRED not in failed.error:
        return
    by_line: dict[tuple[SourceLine | None, bool], list[int]] = {}
    for leaf in failed.inputs:
        if flow.is_leaf(leaf) and not flow.requires_grad(leaf, failed.begin):
            switched = flow.switched_off(leaf) is not None
            source = flow.frozen_at(leaf) if switched else flow.facts(leaf).source
            by_line.setdefault((source, switched), []).append(leaf)
    for (source, switched), leaves in by_line.items():
        yield _asked_case(flow, leaves, source, failed, switched=switched)


def _asked_case(flow: Flow, leaves: list[int], source: SourceLine | None, failed: Run, *, switched: bool) -> Case:
    """Return the case of one line that made leaves without ``requires_grad``, or switched it off."""
    names, one = listed(flow.name(leaf) for leaf in leaves), len(leaves) == 1
    done = "requires_grad was switched off" if switched else "made without requires_grad=True"
    return Case(
        kind="frozen-parameter",
        message=f"{names} {'does' if one else 'do'} not require grad ({done}{at(source)}), so autograd.grad"
        f"{at(failed.source)} cannot give {'its' if one else 'their'} gradient.",
        remedy=f"{in_code(flow.name(leaves[0]))}.requires_grad_(True) before the forward pass",
        source=source,
        op="requires_grad_",
        subjects=frozenset(leaves),
        explains_error=True,
        evidence={"frozen": [flow.name(leaf) for leaf in leaves]},
    )
