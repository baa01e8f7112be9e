"""Checks each custom Function with a recorded call, and adds the result to the recording."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..program.places import SourceLine
from ..recording.events import Event, Recording
from ..sources import sources
from ..sources.base import Replay
from ..sources.function_facts import code_of, definition, gradient_line
from ..sources.kept_calls import Array, KeptCall, KeptCalls
from . import intent
from .isolation import run_isolated
from .maps import Applied, Backward, Map, drawn_like
from .slopes import DOUBLE, SINGLE, Place, Precision, Slope, clearest_entry, direction_for, moved_aside, worst_entry

_DERIVATIVES = ("grad", "jvp")
"""Levels of transforms that differentiate."""


class Uses:
    """By name of a Function: which of its outputs were used in the graph, and whether it was differentiated twice."""

    def __init__(self, recording: Recording) -> None:
        self.outputs: dict[str, set[int]] = defaultdict(set)
        """Places among the tensors that forward returned.  What a Function returns besides its result, such as
        statistics for its own backward, often has no gradient and needs none."""
        made: dict[int, tuple[str, int]] = {}
        """Tensor -> the Function that returned it last, and the place there."""
        for event in recording.events:
            for tensor in _taken(event):
                if tensor in made:
                    name, place = made[tensor]
                    self.outputs[name].add(place)
            if event.kind == "function" and event.data.get("action") == "forward":
                made.update((tensor, (event.op, place)) for place, tensor in enumerate(event.data.get("outputs", ())))
        rules = [event for event in recording.events if event.data.get("action") == "backward"]
        self.spread = {event.op for event in rules if event.data.get("spread")}
        """Functions whose backward received gradients with entries that share memory."""
        self.twice = _differentiated_twice(recording)


def _taken(event: Event) -> list[int]:
    """Return the tensors of an event through which gradients flow back."""
    if event.kind == "backward":
        return list(event.data.get("roots", ()))
    return list(event.data.get("inputs", ())) if "nodes" in event.data or "node" in event.data else []


def _differentiated_twice(recording: Recording) -> set[str]:
    """Return the names of Functions whose backward was itself recorded and differentiated later.

    Transforms of ``torch.func`` record every backward; what matters is whether one of them, or a run, is around it.
    """
    runs = {event.data.get("run", -1): event.data for event in recording.events if event.kind == "backward"}
    recorded = {run for run, data in runs.items() if data.get("create_graph") and run != max(runs)}
    found, transformed, levels = set[str](), set[int](), 0
    for event in recording.events:
        run, action = event.data.get("run", -1), event.data.get("action")
        if event.kind == "transform" and "levels" in event.data:
            levels = sum(level in _DERIVATIVES for level in event.data["levels"])
        elif event.kind == "backward" and levels:
            transformed.add(run)
        elif event.kind == "function" and action == "forward" and levels > 1:
            found.add(event.op)
    outside = max(runs.keys() - transformed, default=-1)
    within = {event.data["run"] for event in recording.events if "nodes" in event.data and "run" in event.data}
    kept = {run for run in transformed & within if run < outside}
    rules = (event for event in recording.events if event.data.get("action") == "backward")
    return found | {event.op for event in rules if event.data.get("run") in (recorded - transformed) | kept}


SECONDS = 5.0
"""Time limit for all Functions of one recording; the remaining ones are not checked."""
_GRACE = 1.0
_CLEAR = 0.25
"""Relative error of a single entry that counts where the entries together are hardly off."""
_SHARE = 0.08
"""Its error relative to all entries must then be this large: approximations are far closer."""
_SMALL = 2e-3
"""Share of a slope that a rule may cut off."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of the comparison for one argument."""

    argument: int
    """Its index among the varied arguments."""
    error: float
    analytic: float = 0.0
    numeric: float = 0.0
    index: tuple[int, ...] = ()
    factor: float | None = None
    """Analytic divided by numeric slope, if the same in all directions."""
    ones: bool = False
    """Whether the incoming gradients were ones: the numbers are derivatives of the sum of the outputs."""
    constant: bool = False
    """Whether backward returns something even for an incoming gradient of zeros."""
    missing: bool = False
    """Whether backward returned None."""
    exchanged: int | None = None
    """Another argument, if backward returns the two arguments' derivatives in each other's place."""
    reason: str = ""
    """``"spread"`` if it is wrong for gradients whose entries share memory, ``"drawn"`` if it draws new
    random numbers."""


class Deliberate(Exception):
    """The backward rule intentionally differs from the derivative."""


class Undecided(Exception):
    """The comparison is meaningless: forward is not repeatable, not smooth, or not finite at this point."""


def check_functions(recording: Recording, kept_calls: KeptCalls, note: Callable[[Event], object]) -> None:
    """Compare each Function with a kept call with finite differences, and note a ``checked`` event for each.

    The program has ended or is paused meanwhile; nothing that the Functions do or raise reaches it.
    """
    if (recording.world_size or 1) > 1:  # other ranks would be waited for
        return
    found: list[Event] = []
    until = time.monotonic() + SECONDS
    uses = Uses(recording)

    def work() -> None:
        replays = {source.name: source.replay() for source in sources() if source.name in kept_calls.engines()}
        with np.errstate(all="ignore"):
            for kept_call in kept_calls.calls:
                found.extend(_events(kept_call, replays[kept_call.engine], uses, until))

    if kept_calls.calls:
        run_isolated(work, SECONDS + _GRACE)
    for event in tuple(found):  # a thread that comes too late may still add to it
        note(event)
    kept_calls.clear()


def _events(kept_call: KeptCall, replay: Replay, uses: Uses, until: float) -> Iterator[Event]:
    """Yield the events for one call: of the first derivative, and of the second if the program used it."""
    cls = kept_call.function()
    if cls is None or intent.is_declared(cls):
        return
    for precision in (DOUBLE, SINGLE):
        used = uses.outputs.get(cls.__name__, ())
        applied = Applied(replay, kept_call, used, double=precision is DOUBLE, until=until)
        try:
            verdict = compare(applied, applied.point(), precision, cls)
            verdict = _elsewhere(applied, not verdict.error and cls.__name__ in uses.spread) or verdict
        except Deliberate:
            return
        except (Exception, SystemExit):
            continue
        yield _event(kept_call, cls, verdict, 1)
        if not verdict.error and cls.__name__ in uses.twice:
            yield from _second(kept_call, cls, applied, replay, precision)
        return


def _elsewhere(applied: Applied, spread: bool) -> Verdict | None:
    """Return a mistake that shows only for gradients whose entries share memory, or after other random draws."""
    arrays = applied.point()
    given = [np.ones_like(one) for one in applied.values(arrays)]
    usual = applied.products(arrays, given)
    if spread and not _are_equal(usual, applied.products_of_sum(arrays)):
        return Verdict(0, 1.0, reason="spread")
    if applied.is_random(arrays) and not _are_equal(usual, applied.products(arrays, given, later=True)):
        return Verdict(0, 1.0, reason="drawn")
    return None


def _are_equal(one: list[Array | None], other: list[Array | None]) -> bool:
    """Whether two lists of gradients are equal up to rounding."""
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    return all(np.allclose(a, b, rtol=1e-4, atol=1e-7, equal_nan=True) for a, b in pairs)


def _second(kept_call: KeptCall, cls: Any, applied: Applied, replay: Replay, precision: Precision) -> Iterator[Event]:
    """Yield the events for the second derivative."""
    backward = Backward(applied, replay)
    try:
        verdict = compare(backward, backward.point(np.random.default_rng(1)), precision, None)
    except (Exception, SystemExit):
        return
    yield _event(kept_call, cls, verdict, 2)


def compare(rule: Map, arrays: list[Array], precision: Precision, cls: Any) -> Verdict:
    """Return the first difference found between a map's analytic derivative and finite differences, or agreement.

    ``cls`` is the Function, whose intent is considered; None for a derivative of a derivative.
    Raises ``Deliberate`` or ``Undecided``, or whatever the map does.
    """
    numbers = np.random.default_rng(0)
    agreed: set[int] = set()
    for arrays_here in (arrays, moved_aside(arrays, numbers)):
        for ones in (True, False):
            place = place_at(rule, arrays_here, precision, numbers if not ones else None)
            if cls is not None and intent.leaves_values_alone(rule, place.arrays, place.out, numbers):
                raise Deliberate
            for argument, array in enumerate(place.arrays):
                verdict = _argument(place, argument, direction_for(array, numbers), cls, numbers)
                if verdict is not None and verdict.error:
                    return replace(verdict, exchanged=_exchanged_with(place, argument, numbers))
                agreed |= set() if verdict is None else {argument}
        if len(agreed) == len(arrays):
            break
    if not agreed:
        raise Undecided
    return Verdict(0, 0.0)


def place_at(rule: Map, arrays: list[Array], precision: Precision, numbers: np.random.Generator | None) -> Place:
    """Return a map at a point, with incoming gradients of ones or random; ``Undecided`` if it is not repeatable."""
    out, again = rule.values(arrays), rule.values(arrays)
    if not out or any(not np.array_equal(one, other) for one, other in zip(out, again, strict=True)):
        raise Undecided
    given = [np.ones_like(one) if numbers is None else drawn_like(one, numbers) for one in out]
    return Place(rule, arrays, out, given, rule.products(arrays, given), precision)


def _argument(place: Place, argument: int, direction: Array, cls: Any, numbers: np.random.Generator) -> Verdict | None:
    """Return the verdict on one argument at one point, None if it is right."""
    slope = place.slope(argument, direction)
    product = place.products[argument]
    if not slope.moved:  # a step function, or an argument that the values do not depend on
        if cls is not None and product is not None and product.any():
            raise Deliberate
        return Verdict(argument, 0.0)
    if not slope.settled:
        return None
    if slope.error < place.precision.tolerance:
        direction, slope = _unlike(place, argument, direction, slope)
        if slope.error < place.precision.suspicion:
            return Verdict(argument, 0.0)
    subtle = slope.error < place.precision.tolerance
    index, along = (clearest_entry if subtle else worst_entry)(place, argument, direction)
    entry = place.slope(argument, along)
    if (entry.moved and not entry.settled) or entry.error < place.precision.tolerance:
        return None
    if subtle and not _is_clear(place, argument, along, entry):
        return None
    if cls is not None and _is_meant(place, (argument, index), entry, cls):
        raise Deliberate
    return _difference(place, argument, (index, along, entry), _factor(place, argument, slope, numbers))


def _exchanged_with(place: Place, argument: int, numbers: np.random.Generator) -> int | None:
    """Return the argument with which an argument has exchanged its derivative."""
    direction, bound = direction_for(place.arrays[argument], numbers), place.precision.tolerance
    mine = place.slope(argument, direction)
    for other, array in enumerate(place.arrays):
        if other != argument and array.shape == direction.shape:
            theirs = place.slope(other, direction)
            crossed = (mine._replace(numeric=theirs.numeric), theirs._replace(numeric=mine.numeric))
            if mine.settled and theirs.settled and theirs.moved and all(one.error < bound for one in crossed):
                return other
    return None


def _is_clear(place: Place, argument: int, along: Array, entry: Slope) -> bool:
    """Whether an entry is far off, relative to itself and to all entries."""
    product = place.products[argument]
    usual = 0.0 if product is None else float(np.sqrt(np.mean(np.abs(product) ** 2))) * float(np.abs(along).max())
    return entry.error >= _CLEAR and abs(entry.analytic - entry.numeric) >= _SHARE * usual


def _unlike(place: Place, argument: int, direction: Array, slope: Slope) -> tuple[Array, Slope]:
    """Return the direction of entries without gradient, and its slope, if that is wrong; else both unchanged."""
    silent = _where_nothing_returns(place, argument, direction)
    if silent.any():
        found = place.slope(argument, silent)
        if found.settled and found.error >= 1 and found.scale >= _SMALL * slope.scale:
            return silent, found
    return direction, slope


def _where_nothing_returns(place: Place, argument: int, direction: Array) -> Array:
    """Return the part of a direction along entries whose gradient is exactly zero.

    A leak that backward forgot is too small to show beside the other entries.
    """
    product = place.products[argument]
    return np.zeros_like(direction) if product is None else np.where(product == 0, direction, 0).astype(direction.dtype)


def _difference(
    place: Place, argument: int, found: tuple[tuple[int, ...], Array, Slope], factor: float | None
) -> Verdict:
    """Return the verdict on an entry at which backward differs."""
    index, along, entry = found
    length = float(np.abs(along[index])) if np.iscomplexobj(along) else float(along[index])
    return Verdict(
        argument,
        entry.error,
        analytic=entry.analytic / length,
        numeric=entry.numeric / length,
        index=index,
        factor=factor,
        ones=all(bool((one == 1).all()) for one in place.given),
        constant=_is_constant(place, argument),
        missing=place.products[argument] is None,
    )


def _is_constant(place: Place, argument: int) -> bool:
    """Whether backward returns something for an incoming gradient of zeros."""
    product = place.map.products(place.arrays, [np.zeros_like(one) for one in place.given])[argument]
    return product is not None and bool(product.any())


def _is_meant(place: Place, where: tuple[int, tuple[int, ...]], entry: Slope, cls: Any) -> bool:
    """Whether the author of a Function intends the difference."""
    argument, index = where
    passing = intent.passes_on(place.products, place.given, argument)
    if not entry.moved and passing and intent.keeps_nothing(cls):
        return True
    if not entry.moved and intent.leaks(place.products, place.given, argument, index):
        return True
    if place.map.takes_indices() and intent.leaves_rows_out(place.products[argument], index):
        return True
    numbers = np.random.default_rng(2)
    given = [drawn_like(one, numbers) for one in place.given]
    return intent.bends(place.map, place.arrays, given) or intent.jumps(place.map, place.arrays, argument, numbers)


def _factor(place: Place, argument: int, slope: Slope, numbers: np.random.Generator) -> float | None:
    """Return the factor by which backward is off, if it is the same in other directions."""
    if not slope.numeric:
        return None
    factor = slope.analytic / slope.numeric
    for _ in range(2):
        other = place.slope(argument, direction_for(place.arrays[argument], numbers))
        if not other.settled or abs(other.analytic - factor * other.numeric) > place.precision.agreement * other.scale:
            return None
    return factor


def _event(kept_call: KeptCall, cls: Any, verdict: Verdict, order: int) -> Event:
    """Return the event for a verdict."""
    varied = kept_call.varied
    incoming = verdict.argument >= len(varied)  # of a second derivative: with respect to the gradient that comes in
    argument = varied[0 if incoming else verdict.argument]
    rule = cls.backward if code_of(cls.backward) is not None else None
    data: dict[str, Any] = {"action": "checked", "order": order, "argument": argument, "relative_error": verdict.error}
    data |= definition(cls.forward, rule, cls.setup_context)
    if not verdict.error:
        return Event("function", cls.__name__, None, data)
    data |= {"analytic": verdict.analytic, "numeric": verdict.numeric, "index": list(verdict.index)}
    data |= {"ones": verdict.ones, "constant": verdict.constant, "missing": verdict.missing, "incoming": incoming}
    if verdict.factor is not None:
        data["factor"] = verdict.factor
    if verdict.exchanged is not None and not incoming and verdict.exchanged < len(varied):
        data["exchanged"] = varied[verdict.exchanged]
    if verdict.reason:
        data["reason"] = verdict.reason
    code = None if rule is None else code_of(rule)
    line = None if code is None else gradient_line(code, argument)
    source = None if code is None or line is None else SourceLine(code.co_filename, line, code.co_name)
    return Event("function", cls.__name__, source, data)
