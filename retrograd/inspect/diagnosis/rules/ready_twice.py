"""Gradient hooks of one parameter that fire twice for one forward pass, which data-parallel reducers refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from ...program.places import SourceLine
from ...recording.events import Event
from ..base import Case, Check, Kind, Stage
from ..facts.flow import Flow
from ..facts.hooks import hook_that_failed, target_kind
from ..facts.nodes import checkpoint_around
from ..facts.runs import Run
from ..text.words import at, function_name, named, times

KINDS = {"ddp-ready-twice": Kind("the gradient hook of one parameter fires twice", "error", Stage.STATEMENT)}
REDUCED = "DistributedDataParallel"
"""The module whose reducer hooks every parameter in C++, where no Python hook is seen."""
_WITHOUT_RUNS = "checkpoint(..., use_reentrant=False)"


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case when hooks on leaves ran more than once for one forward pass."""
    twice: dict[tuple[int, int], list[int]] = {}
    for fired, not_between in ((_hooks_fired(flow), _made_before), (_reducers_fired(flow), _unawaited)):
        for leaf, rows in fired.items():
            pair = _pair(flow, rows, not_between)
            if pair is not None:
                twice.setdefault(pair, []).append(leaf)
    for (first, second), leaves in list(twice.items())[:1]:
        yield _case(flow, first, second, leaves)
    if not twice:
        yield from _refused(flow)


CHECK = Check("accumulation", KINDS, find)


def _hooks_fired(flow: Flow) -> dict[int, list[int]]:
    """Return leaf -> rows at which its hooks of the program ran."""
    fired: dict[int, list[int]] = {}
    for row, event in flow.of_kind("hook", action="registered"):
        leaf = event.data.get("tensor")
        if target_kind(event) == "post-accumulate" and leaf is not None:
            ran = [later for later, _ in flow.of_kind("hook", action="ran", handle=event.data.get("handle", -1))]
            arrived = [arrival for arrival in flow.accumulated.get(leaf, ()) if arrival > row]
            fired[leaf] = max(arrived, ran, key=len)  # of nested passes only hooks are recorded
    return fired


def _reducers_fired(flow: Flow) -> dict[int, list[int]]:
    """Return leaf -> rows at which a gradient arrived that PyTorch's reducer saw."""
    arrivals = {leaf: list(rows) for leaf, rows in flow.accumulated.items()}
    for run in flow.runs:
        if run.nested and run.accumulates and not run.inputs and not run.error:  # its leaves may not be recorded
            for leaf in flow.leaves_behind(flow.reached_by(run)):
                if not any(run.begin < row < run.end for row in arrivals.get(leaf, ())):
                    arrivals.setdefault(leaf, []).append(run.end - 1)
    static = {leaf for _, event in flow.of_kind("wrapper", static_graph=True) for leaf in event.data["inputs"]}
    return {
        leaf: sorted(arrival for arrival in arrivals.get(leaf, ()) if arrival > row)
        for row, event in flow.of_kind("module", type=REDUCED)
        for leaf in event.data.get("parameters", {}).values()
        if leaf not in static  # the reducer counts how often each comes, and waits for all
    }


def _pair(flow: Flow, rows: list[int], not_between: Callable[[Flow, Run, Run], bool]) -> tuple[int, int] | None:
    """Return the numbers of two runs that both fired a hook although no forward pass came between them."""
    for one, other in pairwise(rows):
        first, second = _run(flow, one), _run(flow, other)
        if first is None or second is None:
            continue
        if _outermost(flow, first) is _outermost(flow, second) or not_between(flow, first, second):
            return first.number, second.number
    return None


def _refused(flow: Flow) -> Iterator[Case]:
    """Yield the case of a hook that raised when it ran for a parameter again before any optimizer had stepped.

    A reducer of one's own does that, which takes the first gradient for the whole one.
    """
    began = hook_that_failed(flow) or _last_that_ran(flow)
    on_arrival = began is not None and target_kind(began) == "tensor"
    fired = {} if began is None else _tensor_hooks_fired(flow) if on_arrival else _hooks_fired(flow)
    leaf, rows = max(fired.items(), key=lambda one: one[1][-1:], default=(None, []))
    steps = flow.optimizer_steps
    if leaf is None or began is None or len(rows) < 2 or any(rows[-2] < row < rows[-1] for row in steps):
        return
    first, second = _run(flow, rows[-2]), _run(flow, rows[-1])
    if first is None or second is None or not second.error:
        return
    if on_arrival and not (_shared(flow, first, second) and _made_before(flow, first, second)):
        return  # a hook of a tensor may refuse what it is given, for its values
    name, hook = flow.name(leaf), function_name(began.data.get("hook")) or "the hook"
    yield Case(
        kind="ddp-ready-twice",
        message=f"hook {hook} of {name}, registered{at(began.source)}, fires twice before the optimizer steps: after "
        f"backward{at(first.source)} it runs again in backward{at(second.source)}, and refuses the second gradient; a "
        "reducer takes the parameter for ready at the first.",
        remedy="reduce after the last backward of a step only (as no_sync() does), or add the losses and call "
        "backward once",
        source=second.source,
        op="backward",
        subjects=frozenset({leaf}),
        explains_error=True,
    )


def _tensor_hooks_fired(flow: Flow) -> dict[int, list[int]]:
    """Return leaf -> events at which its own hooks, which see its gradient before ``.grad`` does, ran."""
    fired: dict[int, list[int]] = {}
    for row, event in flow.of_kind("hook", action="ran"):
        leaf = event.data.get("tensor")
        if target_kind(event) == "tensor" and leaf is not None and flow.is_leaf(leaf):
            fired.setdefault(leaf, []).append(row)
    return fired


def _last_that_ran(flow: Flow) -> Event | None:
    """Return the registration of the hook that a run ended with, if code of the program that it called raised."""
    failed = next((run for run in reversed(flow.runs) if run.error), None)
    if failed is None or flow.error is None or flow.error.source in (None, failed.source):
        return None
    last = flow.events[failed.end - 1]
    made = flow.of_kind("hook", action="registered", tensor=last.data.get("tensor", -1))
    hooks = [event for _, event in made if target_kind(event) == "post-accumulate"]
    if hooks and last.kind in ("accumulate", "hook"):
        return hooks[-1]
    ran = [event for row, event in flow.of_kind("hook", action="ran") if failed.begin < row < failed.end]
    before = ran[-1].data.get("handle", -1) if ran and target_kind(ran[-1]) == "tensor" else -1
    return next((event for _, event in flow.of_kind("hook", action="registered", handle=before)), None)


def _run(flow: Flow, row: int) -> Run | None:
    """Return the innermost run during which a row happened."""
    number = flow.events[row].data.get("run")
    named = next((run for run in flow.runs if run.number == number), None)
    return named or next((run for run in reversed(flow.runs) if run.begin < row < run.end), None)


def _outermost(flow: Flow, run: Run) -> Run:
    """Return the run during which a nested one happened, or the run itself."""
    around = (one for one in flow.runs if not one.nested and one.begin < run.begin < one.end)
    return next(around, run) if run.nested else run


def _made_before(flow: Flow, first: Run, second: Run) -> bool:
    """Whether everything that uses parameters of both graphs existed before the first pass began.

    A loss may be computed of the results of one forward pass after another loss of them has run backward.
    """
    later = flow.reached_by(second).calls
    taking = [row for row in later if flow.trainable(flow.inputs(row))]
    return bool(taking) and all(row < first.begin for row in taking)


def _shared(flow: Flow, first: Run, second: Run) -> bool:
    """Whether both passes went through the same forward calls."""
    return not flow.reached_by(second).calls.isdisjoint(flow.reached_by(first).calls)


def _unawaited(flow: Flow, first: Run, second: Run) -> bool:
    """Whether PyTorch's reducer, which each forward pass makes wait for one run, waits for a second one no more.

    A run of another forward pass that follows before the step reduces all that has added up until then.
    """
    if _shared(flow, first, second):
        return True
    following = flow.run_after(second.end)
    again = following is not None and not flow.stepped_between(second.end, following.begin)
    if following is not None and again and not _made_before(flow, second, following):
        return False
    return _made_before(flow, first, second)


def _case(flow: Flow, first: int, second: int, leaves: list[int]) -> Case:
    """Return the case of one pair of firings."""
    runs = {run.number: run for run in flow.runs}
    one, other = runs[first], runs[second]
    source, why, remedy = _cause(flow, one, other)
    apart = one is not other and not one.nested and not other.nested and not _shared(flow, one, other)
    when = "with no forward pass in between" if apart else "for one forward pass"
    return Case(
        kind="ddp-ready-twice",
        message=f"the gradient hook of {named(flow, leaves)} fires twice {when}: "
        f"{why}; a reducer takes the parameter for ready before its gradient is complete.",
        remedy=remedy,
        source=source,
        op="backward",
        subjects=frozenset(leaves),
        explains_error=bool(flow.error and (one.error or other.error)),
    )


def _cause(flow: Flow, one: Run, other: Run) -> tuple[SourceLine | None, str, str]:
    """Return the line of the cause for gradients that arrived in two passes (or one), the reason, and the fix."""
    blocks = _checkpoints(flow)
    if blocks and (one is other or one.nested or other.nested):
        source = blocks[-1].source
        function = blocks[-1].data.get("function") or "the block"
        why = f"{function} is checkpointed {times(len(blocks))}{at(source)} with reentrant runs of their own"
        return source, why, _WITHOUT_RUNS
    around = next(filter(None, (checkpoint_around(flow, row) for row in flow.rows.get("operation", ()))), None)
    if around is not None and (one is other or one.nested or other.nested):
        why = f"the checkpoint{at(around)} runs backward by itself each time that it recomputes its block"
        return around, why, _WITHOUT_RUNS
    if one is not other:
        where = (
            f"{at(one.source)} and{at(other.source)}" if one.source != other.source else f" each time{at(one.source)}"
        )
        of = "of one forward pass" if _shared(flow, one, other) else "whose forward passes both came before"
        why = f"backward runs for each of two losses {of},{where}"
        return other.source, why, "add the losses and call backward once"
    why = f"its gradient arrives in two parts during backward{at(one.source)}"
    return one.source, why, "use the parameter in one operation of the graph only, or static_graph=True"


def _checkpoints(flow: Flow) -> list[Event]:
    """Return the events that began checkpointed blocks."""
    return [event for _, event in flow.of_kind("checkpoint", action="forward")]
