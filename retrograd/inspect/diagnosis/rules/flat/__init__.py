"""Gradients that vanish, explode or are cut to zero on their path from the loss to the leaves."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ....graphs.graph import Graph
from ....operators import Trait, canonical, is_a
from ....recording.events import Event
from ...base import Case, Check, Kind, Stage
from ...facts.call_inputs import known_limits, limits_of, overflowed_behind
from ...facts.flow import Flow
from ...facts.ledger import Step
from ...facts.lines import few_of_each_line
from ...facts.nodes import call_of, ran
from ...facts.runs import Run
from ...queries.depth import grown
from ...text.spelling import is_name
from ...text.words import at, named
from ...thresholds import HALF_OF_IT, LAYERS_ASKED, NOTHING, SMALLEST_NORMAL_HALF, STEADY
from .constant_results import Losses, both_zero, constant_results, is_zero, lost_in, switched_off, vanished_value
from .straight_pieces import straight_pieces
from .zero_values import beyond_reach, zero_layers, zero_values
from .zeroing_hooks import zeroing_hooks

_DRAWN = (
    "draw what does not depend on the parameters and compute with it (mean + std * torch.randn_like(std), or "
    "rsample() of a distribution), a score function (loss * log_prob(sample)), or a straight-through estimate"
)
"""What a gradient gets past."""


def drawn_numbers(event: Event, they_get: str) -> tuple[str, str, str] | None:
    """Return kind, sentence and remedy if a call draws numbers and passes nothing on; ``they_get``: leaves and verb."""
    if not is_a(event.op, Trait.RANDOM):
        return None
    message = (
        f"{event.op}{at(event.source)} draws numbers, whose derivative with respect to what they are drawn from is zero"
    )
    return "zero-gradient", f"{message}: {they_get} a gradient of zero.", _DRAWN


def hinge_of_infinity(flow: Flow, row: int, leaves: list[int]) -> Case | None:
    """Return the case of a hinge all of whose entries are off because each was computed from an infinity."""
    event = flow.events[row]
    if not any(math.isinf(end) for limits in known_limits(flow, row) for end in limits):
        return None
    behind = sorted(flow.behind(flow.inputs(row), row, gradients=False).calls)
    born = next((call for call in behind if _makes_infinity(flow, call)), row)
    source = flow.events[born].source
    names = named(flow, leaves)
    return Case(
        kind="zero-gradient",
        message=f"{names} get{'s' if len(leaves) == 1 else ''} a gradient of zero: {flow.events[born].op}{at(source)} "
        f"puts inf or -inf in, and {event.op}{at(event.source)} is flat for what comes of it, whatever the other "
        "entries are.",
        remedy="use the other infinity for what is to be left out, so that a maximum or minimum does not pick it, or "
        "leave these entries out by an index",
        source=source,
        op=flow.events[born].op,
        subjects=frozenset(leaves),
    )


def _hinge_of_all(flow: Flow, run: Run, row: int, leaves: list[int]) -> Case | None:
    """Return the case of a hinge that is off from the first pass to the last, so that no gradient is ever but zero."""
    event, passes = flow.events[row], sum(one.accumulates for one in flow.runs)
    taught = any(not is_zero(norms) for arrived in flow.norms_of.values() for norms in arrived)
    if taught or min(passes, len(flow.optimizer_steps)) < STEADY:
        return None
    low, high = _limits(flow, row)
    return Case(
        kind="zero-gradient",
        message=f"{event.op}{at(event.source)} is flat for the whole loss in each of {passes} backward passes"
        f"{_between(low, high)}, so every gradient is zero and nothing is trained: {named(flow, leaves)}.",
        remedy=f"see what {event.op} is given: the margin that is taken off, or the bound, must lie below the loss",
        source=event.source,
        op=event.op,
        subjects=frozenset(leaves),
        marks=flow.marks(run, [row], "flat here"),
        evidence={"input": [low, high], "passes": passes},
    )


def _makes_infinity(flow: Flow, call: int) -> bool:
    """Whether a call returned an infinity and none of its known inputs has one."""
    made = [end for limits in flow.events[call].data.get("range", ()) for end in limits or ()]
    given = [end for limits in known_limits(flow, call) for end in limits]
    return any(end is not None and math.isinf(end) for end in made) and not any(
        end is not None and math.isinf(end) for end in given
    )


KINDS = {
    "vanishing": Kind("gradient shrinks along the depth", "warning", Stage.VALUES),
    "exploding": Kind("gradient grows along the depth, or a step goes too far", "warning", Stage.VALUES),
    "dead-relu": Kind("all units of a relu are inactive (dead)", "warning", Stage.VALUES),
    "saturation": Kind("the flat part of tanh, sigmoid and the like", "warning", Stage.VALUES),
    "zero-gradient": Kind("an operation with zero derivative", "error", Stage.VALUES),
    "underflow": Kind("the gradient rounds to zero in the dtype used", "error", Stage.VALUES),
}
_ADDING_UP = (Trait.LINEAR, Trait.SCALING, Trait.EXTREME)
_NEARLY, _MOSTLY, _HUGE = 0.95, 0.8, 100.0
"""Share of flat entries, the same when both ends are flat, and size of the input, from which on a few entries that
still learn are no excuse.  One end alone may be a mask."""
_HALF = {"float16": 5.96e-8, "bfloat16": 9.2e-41}
"""Dtype -> smallest positive number."""
_REVIVING = "a smaller learning rate, another initialisation of the bias, or leaky_relu"


def find(flow: Flow) -> Iterator[Case]:
    """Yield the cases of hooks and of second derivatives, and those of the first run that shows one."""
    yield from zeroing_hooks(flow) if flow.rows.get("hook") else ()
    yield from straight_pieces(flow)
    for run in flow.runs:
        if run.snapshot is None or run.error or run.nested:
            continue
        snapshot = flow.graph_of(run)
        if not {"order", "grad_norm", "out_norm", "out_zero_share"} <= set(snapshot.measures):
            continue
        found = [*constant_results(flow, run, snapshot), *zero_values(flow, run, snapshot)]
        found += _zeroed(flow, run, snapshot)
        found = found or list(zero_layers(flow, run, snapshot))
        found = found or list(_mostly_lost(flow, run, snapshot))
        found = found or list(grown(flow, run, snapshot))
        found = found or list(_nearly_saturated(flow, run))
        if found:
            yield from found
            return


CHECK = Check("flat", KINDS, find)


# -- gradients that became zero


def _zeroed(flow: Flow, run: Run, snapshot: Graph) -> Iterator[Case]:
    """Yield a case for each node that was given a gradient and passed on nothing but zeros."""
    lost = lost_in(flow, run)
    if not lost:
        return
    made = {node: call_of(flow, snapshot, node) for node in ran(snapshot) if _stops(snapshot, node)}
    few = set(few_of_each_line(flow, {row for row in made.values() if row is not None}, LAYERS_ASKED))
    stopping = {node: row for node, row in made.items() if row is not None and row in few}
    reported = set()
    losses = Losses(flow, run, snapshot)
    for node, row in stopping.items():
        if flow.events[row].source in reported:
            continue
        case = _zero_case(flow, run, (node, row), losses.at(node, lost), list(stopping.values()))
        if case is not None and case.source not in reported:  # an underflow is reported at the line where it began
            reported.add(case.source)
            yield case


def _stops(snapshot: Graph, node: int) -> bool:
    """Whether a node was given a gradient and passed on nothing of it."""
    given, passed = snapshot.measures["grad_norm"][node], snapshot.measures["out_norm"][node]
    return bool(given and passed is not None and not math.isnan(given) and not passed > given * NOTHING)


def _zero_case(flow: Flow, run: Run, place: tuple[int, int], lost: list[int], stopping: list[int]) -> Case | None:
    """Return the case of a node that let nothing through, if its operator explains that.

    ``stopping``: the calls of all such nodes, at which other ways to the same leaves end.
    """
    row = place[1]
    event = flow.events[row]
    behind = flow.leaves_behind(flow.behind(flow.inputs(row), row))
    leaves = [leaf for leaf in lost if leaf in behind]
    limits = _limits(flow, row)
    if not leaves:
        return None
    if is_a(event.op, Trait.FLAT, Trait.EXTREME) and _is_hinge(flow, row, run):
        return hinge_of_infinity(flow, row, leaves) or _hinge_of_all(flow, run, row, leaves)
    they_get = f"{named(flow, leaves)} get{_s(leaves)}"
    explained = _explained(event, limits, they_get) or vanished_value(flow, row, limits, they_get)
    explained = explained or both_zero(flow, row, they_get)
    explained = explained or switched_off(flow, (row, stopping), leaves, they_get) or drawn_numbers(event, they_get)
    if explained is None:
        half = _half(flow, run, place) and not overflowed_behind(flow, row)  # behind an overflow is nothing to scale
        return _underflow(flow, run, place, leaves) if half else None
    kind, message, remedy = explained
    step = _step_before(flow, run, row, behind) if kind in ("dead-relu", "saturation") else None
    evidence = {"flat_share": event.data.get("flat_share", 0.0), "input": list(limits)}
    beyond = beyond_reach(flow, run, row) if kind == "dead-relu" else None
    if beyond is not None:
        message += f" Its results are never below 0, and what {beyond.op}{at(beyond.line)} compares them with is at "
        message += f"most {beyond.most:g}: no weights reach that."
        remedy = f"leave {event.op} out behind the last layer, or bring the targets above 0"
    elif step is not None:
        rate = step.setting(next(iter(step.held)), "lr")
        message += f" It was not so before {step.event.data.get('name') or 'the optimizer'}.step()"
        message += f"{at(step.event.source)} moved the weights, by lr={rate:g}."
        remedy = "a smaller learning rate, by which a step leaves the units where they work"
        evidence["rate"] = rate
    return Case(
        kind=kind,
        message=message,
        remedy=remedy,
        source=event.source,
        op=event.op,
        subjects=frozenset(leaves),
        marks=flow.marks(run, [row], "the gradient stops here"),
        evidence=evidence,
    )


def _step_before(flow: Flow, run: Run, row: int, leaves: set[int]) -> Step | None:
    """Return the only step since the previous pass, if a call at the same position was not flat there."""
    event = flow.events[row]
    earlier = [one for one in flow.runs if one.end < run.begin and one.source == run.source and not one.nested]
    if not earlier:
        return None
    before = flow.values_behind(earlier[-1]).calls
    calls = [call for call in flow.made_at(event.source, event.op) if call in before]
    if not calls or any(flow.events[call].data.get("flat_share", 0.0) > _NEARLY for call in calls):
        return None
    steps = [one for one in flow.ledger.steps if earlier[-1].end < one.row < row and not leaves.isdisjoint(one.held)]
    rated = [one for one in steps if isinstance(one.setting(next(iter(one.held)), "lr"), int | float)]
    return rated[0] if len(rated) == 1 else None


def _explained(event: Event, limits: tuple[float, float], they_get: str) -> tuple[str, str, str] | None:
    """Return kind, message and remedy for an operator that was used where its slope is zero; None for another."""
    op, (low, high) = canonical(event.op), limits
    shown, arguments = f"{event.op}{at(event.source)}", event.data.get("arguments", {})
    known = "" if math.isnan(high) else f" (its input is at most {high:g})"
    if is_a(op, Trait.STEP) or "rounding_mode" in arguments or (is_a(op, Trait.CLAMPING) and not _lifts(event, high)):
        message = (
            f"{shown} has derivative zero for all that it is given{_between(low, high)}, so {they_get} a gradient "
        )
        message += "of zero."
        return "zero-gradient", message, _around_a_step(event, op)
    if is_a(op, Trait.FLAT) and is_a(op, Trait.ELEMENTWISE) and not high > 0:
        message = f"all units of {shown} are inactive{known}: {they_get} no gradient."
        return "dead-relu", message, _REVIVING
    if is_a(op, Trait.SATURATING, Trait.FLAT) and not is_a(op, Trait.NORMALISATION):
        message = (
            f"{shown} is saturated (its input reaches from {low:g} to {high:g}, slope zero there): the gradient "
            f"vanishes, and {they_get} none."
        )
        return "saturation", message, f"normalise the input of {event.op}, or start with smaller weights"
    if is_a(op, Trait.EXTREME, Trait.FILLING, Trait.WRITING):
        message = f"{shown} takes none of the entries that were computed, so {they_get} a gradient of zero."
        return "zero-gradient", message, f"look at the bound or mask of {event.op}: it leaves nothing of what came in"
    return None


def _between(low: float, high: float) -> str:
    """Return `` (from -4 to -3)``, or nothing where values are unknown."""
    if math.isnan(low) or math.isnan(high):
        return ""
    return f" ({low:g})" if low == high else f" (from {low:g} to {high:g})"


def _lifts(event: Event, high: float) -> bool:
    """Whether a call lifted all that it was given to zero, as a relu does."""
    made = (event.data.get("range") or [None])[0]
    return made is not None and list(made) == [0.0, 0.0] and not high > 0


def _around_a_step(event: Event, op: str) -> str:
    """Return how a gradient gets past a call whose slope is zero."""
    given = (event.data.get("names") or [""])[0]
    name, meaning = (given, "") if is_name(given) else ("z", f" with z = {given}" if given else "")
    estimate = f"a straight-through estimate: {name} + ({op}({name}) - {name}).detach(){meaning}"
    if is_a(op, Trait.CLAMPING):
        return f"start with {name} within the bounds, or {estimate.replace(f'{op}({name})', f'{name}.{op}(...)')}"
    return estimate.replace(f"{op}({name})", f"torch.{op}({name})")


def _nearly_saturated(flow: Flow, run: Run) -> Iterator[Case]:
    """Yield the case of a smooth step that huge inputs keep in its flat part, except for a few entries."""
    for row in sorted(flow.reached_by(run).calls):
        event = flow.events[row]
        op, flat = event.op, event.data.get("flat_share", 0.0)
        smooth = is_a(op, Trait.SATURATING) and not is_a(op, Trait.PIECEWISE, Trait.NORMALISATION)
        if not smooth or flat <= min(_MOSTLY, _NEARLY):  # what most calls were given need not be looked for
            continue
        limits = _limits(flow, row)
        enough = _MOSTLY if limits[0] < -_HUGE and limits[1] > _HUGE else _NEARLY
        if flat > enough and max(map(abs, limits)) > _HUGE:
            behind = flow.leaves_behind(flow.behind(flow.inputs(row), row))
            leaves = sorted(behind.intersection(flow.norms_in(run)) or behind.intersection(run.inputs))
            if not leaves:
                continue
            yield Case(
                kind="saturation",
                message=f"{op}{at(event.source)} is saturated (its input reaches from {limits[0]:g} to {limits[1]:g}, "
                f"slope zero for {flat:.0%} of the entries): {named(flow, leaves)} "
                f"get{_s(leaves)} next to no gradient.",
                remedy=f"normalise the input of {op}, or start with smaller weights",
                source=event.source,
                op=event.op,
                subjects=frozenset(leaves),
                marks=flow.marks(run, [row], "flat here"),
                evidence={"flat_share": flat, "input": list(limits)},
            )
            return


def _s(leaves: list[int]) -> str:
    return "s" if len(leaves) == 1 else ""


def _limits(flow: Flow, row: int) -> tuple[float, float]:
    """Return least and largest value of a call's first input, as far as known."""
    first = flow.inputs(row)[:1]
    limits = limits_of(flow, first[0], row) if first else None
    return (float(limits[0]), float(limits[1])) if limits else (math.nan, math.nan)


def _is_hinge(flow: Flow, row: int, run: Run) -> bool:
    """Whether a loss only sums a call's result: that all of it is in the flat part is the aim of training."""
    reached = flow.reached_by(run).calls
    after = reached & flow.descendants(flow.outputs(row), row, reached.__contains__).calls
    mixed = any(flow.trainable(flow.inputs(call)) for call in after)
    return not mixed and all(is_a(flow.events[call].op, *_ADDING_UP) for call in after)


def _first_tiny(flow: Flow, snapshot: Graph, place: tuple[int, int]) -> tuple[int, int]:
    """Return the first node that ran, with its call, that passed on mostly less than the smallest normal number."""
    for node in ran(snapshot):
        row = call_of(flow, snapshot, node) if _is_tiny(snapshot, node) else None
        if row is not None:
            return node, row
        if node == place[0]:
            break
    return place


def _mostly_lost(flow: Flow, run: Run, snapshot: Graph) -> Iterator[Case]:
    """Yield the case of gradients of which most entries rounded to zero, and the rest are below the normal numbers."""
    node = next((node for node in ran(snapshot) if _is_tiny(snapshot, node)), None)
    row = None if node is None else call_of(flow, snapshot, node)
    if node is None or row is None or _half(flow, run, (node, row)) != "float16":
        return
    lost = [leaf for leaf, events in flow.arrivals_in(run).items() if any(map(_is_remnant, events))]
    if lost:
        yield _underflow(flow, run, (node, row), lost, "next to nothing")


def _is_remnant(event: Event) -> bool:
    """Whether half of an arriving gradient or more is zero, and no entry is a normal number of half precision."""
    grad = event.data.get("grad") or {}
    size, low, high = grad.get("size", 0), grad.get("min"), grad.get("max")
    if not size or low is None or high is None or grad.get("zero", 0) < size / 2:
        return False
    return bool(max(-low, high) < SMALLEST_NORMAL_HALF)


def _is_tiny(snapshot: Graph, node: int) -> bool:
    """Whether a node passed on mostly less than the smallest normal number."""
    tiny = snapshot.measures.get("out_tiny_share", [])
    return bool(tiny) and (tiny[node] or 0.0) >= HALF_OF_IT


def _half(flow: Flow, run: Run, place: tuple[int, int]) -> str:
    """Return the half precision in which a node computes, or from which it converts."""
    node, row = place
    dtypes = [flow.graph_of(run).dtype[node] or ""]
    dtypes += [flow.facts(given).dtype for given in flow.inputs(row)]
    return next((dtype for dtype in dtypes if dtype in _HALF), "")


def _underflow(flow: Flow, run: Run, begun: tuple[int, int], leaves: list[int], left: str = "none") -> Case:
    """Return the case of a gradient that was too small for its dtype, of which ``left`` arrived."""
    snapshot = flow.graph_of(run)
    node, row = _first_tiny(flow, snapshot, begun)
    dtype = _half(flow, run, (node, row)) or _half(flow, run, begun)
    event = flow.events[row]
    norm = snapshot.measures["grad_norm"][node] or 0.0
    return Case(
        kind="underflow",
        message=f"the gradient falls below the smallest {dtype} number {_HALF[dtype]:g} behind "
        f"{event.op}{at(event.source)} (it arrives with norm {norm:.2g} and underflows): "
        f"{named(flow, leaves)} get{_s(leaves)} {left}.",
        remedy="scale the loss and divide the gradients by the same (torch.amp.GradScaler does)"
        + (", or compute the loss in float32: .float()" if snapshot.dtype[node] in _HALF else ""),
        source=event.source,
        op=event.op,
        subjects=frozenset(leaves),
        marks=flow.marks(run, [row], "underflow"),
        evidence={"dtype": dtype, "grad_norm": norm},
    )
