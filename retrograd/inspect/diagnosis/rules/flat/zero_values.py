"""Factors that are zero in every entry: what is multiplied by them learns nothing, whatever else gets a gradient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ....graphs.graph import Graph
from ....operators import Trait
from ....program.places import SourceLine
from ...base import Case
from ...facts.call_inputs import known_limits, limits_of
from ...facts.flow import Flow
from ...facts.lines import few_of_each_line
from ...facts.runs import Run
from ...queries.distance import is_comparison
from ...roles.compared import comes_to
from ...text.words import at, named
from ...thresholds import HABIT, NOTHING
from .constant_results import Losses, both_zero, is_zero, is_zero_now, lost_in

_FLATTENING = (Trait.STEP, Trait.CLAMPING, Trait.CAST, Trait.DISCRETE)
"""Traits of operators that may turn any numbers into zeros; other rules handle inactive units."""
_SHRINKING = (Trait.SCALING, Trait.POWER, Trait.EXPONENTIAL)
"""Traits of operators that make numbers smaller, down to zero by underflow."""
_ENTRIES_AGAIN = (Trait.PART, Trait.INDEXING, Trait.FILLING, Trait.CREATION, Trait.LIKE, Trait.RANDOM, Trait.COMPARISON)
"""Traits of operators that select, insert or draw: whether that gives zeros depends on the data."""


def zero_values(flow: Flow, run: Run, snapshot: Graph) -> Iterator[Case]:
    """Yield a case for each call whose results are all zero in every pass, with the leaves that learn nothing.

    A factor that begins as zero, or that data or masks make so, is none.
    """
    lost = _always_lost(flow, run, HABIT)
    products = [row for row in flow.reached_by(run).calls if flow.does(row, Trait.PRODUCT)] if lost else []
    losses = Losses(flow, run, snapshot) if products else None
    places = run.places(snapshot)
    starved: dict[int, set[int]] = {}
    takers: dict[int, int] = {}
    for row in few_of_each_line(flow, products):
        born = {origin for one in flow.inputs(row) if (origin := _zeros_from(flow, one, row)) is not None}
        if losses is None or len(born) != 1 or not _is_given(flow, snapshot, places, row):
            continue
        for node in flow.nodes(row):
            starved.setdefault(min(born), set()).update(losses.at(places[node], lost) if node in places else ())
        takers.setdefault(min(born), row)
    for origin, leaves in starved.items():
        leaves |= flow.leaves_behind(flow.behind(flow.inputs(origin), origin)).intersection(lost)
        if leaves and _always_zero(flow, origin):
            yield _case(flow, run, (origin, takers[origin]), sorted(leaves))


class Beyond(NamedTuple):
    """A comparison whose target no result of a call can come to."""

    op: str
    line: SourceLine | None
    most: float
    """The greatest entry of the target."""


def beyond_reach(flow: Flow, run: Run, row: int) -> Beyond | None:
    """Return the comparison, if any, of what a call lifted to zero with a target that is below zero throughout."""
    found: list[Beyond] = []

    def is_beyond(flow: Flow, call: int) -> bool:
        targets = [one for one in flow.inputs(call)[:2] if not flow.has_history(one, call)]
        limits = limits_of(flow, targets[0], call) if targets and is_comparison(flow, call) else None
        if limits and limits[1] is not None and limits[1] < 0:
            found.append(Beyond(flow.events[call].op, flow.events[call].source, limits[1]))
        return bool(found)

    for out in flow.outputs(row):
        comes_to(flow, out, flow.reached_by(run).calls, (Trait.ARRANGING,), is_beyond)
    return found[0] if found else None


def _always_lost(flow: Flow, run: Run, passes: int) -> list[int]:
    """Return the leaves to which a pass, and every other one, gives zeros."""
    lost = (leaf for leaf in lost_in(flow, run) if len(flow.norms_of[leaf]) >= passes)
    return [leaf for leaf in lost if all(map(is_zero, flow.norms_of[leaf]))]


def _is_given(flow: Flow, snapshot: Graph, places: dict[int, int], row: int) -> bool:
    """Whether a gradient arrives at a call."""
    norms = (snapshot.measures["grad_norm"][places[node]] for node in flow.nodes(row) if node in places)
    return max((norm or 0.0 for norm in norms), default=0.0) > NOTHING


def _zeros_from(flow: Flow, tensor: int, before: int) -> int | None:
    """Return the call that made the zeros which a tensor holds of numbers other than zero, if one did."""
    while is_zero_now(flow, tensor, before) or not flow.facts(tensor).dtype.startswith(("float", "bfloat")):
        row = flow.last_producer(tensor, before)
        if row is None or flow.does(row, *_ENTRIES_AGAIN):
            return None
        given = [one for one in flow.inputs(row) if limits_of(flow, one, row) is not None] or flow.inputs(row)
        zero = [one for one in given if is_zero_now(flow, one, row)]
        if not zero and _makes_zeros(flow, row):
            return row
        if not given or (len(given) > 1 and not zero):
            return None
        tensor, before = (zero or given)[0], row
    return None


def _makes_zeros(flow: Flow, row: int) -> bool:
    """Whether a call with zero results is one that turned its inputs into zeros; not a relu of negative numbers."""
    given = known_limits(flow, row)
    if flow.does(row, *_FLATTENING):
        return bool(given) and (given[0][1] > 0 or not flow.does(row, Trait.CLAMPING))
    return bool(given) and flow.does(row, *_SHRINKING) and 0 not in flow.numbers(row)


def _always_zero(flow: Flow, origin: int) -> bool:
    """Whether all calls from a line, several of them, returned zeros, as far as known."""
    event = flow.events[origin]
    alike = [flow.outputs(row)[0] for row in flow.made_at(event.source, event.op) if flow.outputs(row)]
    known = [limits for one in alike if (limits := limits_of(flow, one, len(flow.events))) is not None]
    return len(alike) >= HABIT and all(list(limits) == [0.0, 0.0] for limits in known)


def _case(flow: Flow, run: Run, places: tuple[int, int], leaves: list[int]) -> Case:
    """Return the case of one call that makes zeros; ``places``: that call, and one that multiplies by them."""
    event, taker = flow.events[places[0]], flow.events[places[1]]
    low, high = known_limits(flow, places[0])[0]
    shrinks = not flow.does(places[0], *_FLATTENING)
    small = f"numbers too small for {flow.facts(flow.outputs(places[0])[0]).dtype} " if shrinks else ""
    names = f"{named(flow, leaves)} get{'s' if len(leaves) == 1 else ''}"
    return Case(
        kind="underflow" if shrinks else "zero-gradient",
        message=f"{event.op}{at(event.source)} makes {small or 'zeros '}of all that it is given, from {low:g} to "
        f"{high:g}, in every pass{', which are zero' if shrinks else ''}; {taker.op}{at(taker.source)} multiplies by "
        f"them, so {names} a gradient of zero.",
        remedy="keep this step in float32, or scale what it is given"
        if shrinks
        else f"see what {event.op} is for: it leaves nothing of its input",
        source=event.source,
        op=event.op,
        subjects=frozenset(leaves),
        marks=flow.marks(run, [places[1]], "multiplied by zeros"),
        evidence={"input": [low, high]},
    )


def zero_layers(flow: Flow, run: Run, snapshot: Graph) -> Iterator[Case]:
    """Yield the case of the layer nearest to the loss whose weights and inputs are both zero.

    With all leaves that never get a gradient for it.
    """
    lost = _always_lost(flow, run, 0)
    places = run.places(snapshot)
    for row in sorted(flow.reached_by(run).calls, reverse=True) if lost else ():
        taken = flow.does(row, Trait.CONTRACTION) and _is_given(flow, snapshot, places, row)
        if not taken or both_zero(flow, row, "") is None:
            continue
        behind = flow.leaves_behind(flow.behind(flow.inputs(row), row)).intersection(lost)
        explained = both_zero(flow, row, f"{named(flow, sorted(behind))} get") if behind else None
        if explained is not None:
            event = flow.events[row]
            yield Case(
                kind=explained[0],
                message=explained[1],
                remedy="leave the initial weights as the layers draw them; one of two factors may be zero, not both",
                source=event.source,
                op=event.op,
                subjects=frozenset(behind),
                marks=flow.marks(run, [row], f"both factors are zero{at(event.source)}"),
            )
            return
