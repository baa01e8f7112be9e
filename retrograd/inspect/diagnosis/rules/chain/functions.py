"""Cuts inside differentiated functions, and terms whose gradient reaches nothing."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from ....program.places import SourceLine
from ....recording.events import Event
from ...base import Case
from ...facts.flow import Flow
from ...facts.lines import backward_line, made_inside
from ...facts.runs import Run
from ...queries.constants import Cut
from ...text.words import at, named
from ...thresholds import NOTHING, STEADY

# Trained leaves that a custom Function uses and whose gradient it never returns: not given, None, or zeros only.


def lost_in_functions(flow: Flow, ways: Iterable[tuple[int, list[int]]]) -> Iterator[Case]:
    """Yield the cases of leaves without gradient, each with a path of its values that no recorded cut ends."""
    found: dict[tuple[SourceLine | None, str], tuple[Event, str, list[int]]] = {}
    for leaf, way in ways:
        if flow.written_after(leaf, flow.runs[0].begin):  # updated by the program itself
            continue
        for event in filter(None, (_function_of(flow, row) for row in way)):
            name = _given_as(flow, event, leaf)
            if name is None or _always_none(flow, event, name):
                source = event.source if name is None else backward_line(event)
                found.setdefault((source, name or ""), (event, name or "", []))[2].append(leaf)
                break
    for (source, _), (event, name, leaves) in found.items():
        yield _returns(flow, event, name, leaves, "None", source) if name else _not_given(flow, event, leaves)


def zeros_of_functions(flow: Flow) -> Iterator[Case]:
    """Yield the cases of leaves that a Function returns zeros for in every pass, while it passes something else on."""
    found: dict[tuple[SourceLine | None, str], tuple[Event, list[int]]] = {}
    forwards = dict(flow.of_kind("function", action="forward"))
    for leaf in flow.optimized if forwards else ():
        norms = [norm for run in flow.norms_of.get(leaf, ()) for norm in run]
        rows = [row for row in flow.used_in.get(leaf, ()) if flow.has_node(row)]
        if len(norms) < 2 or any(norm != 0.0 for norm in norms) or not rows or not forwards.keys() >= set(rows):
            continue
        name = _given_as(flow, forwards[rows[0]], leaf)
        if name and _passes_something(flow, set(rows)):
            event = forwards[rows[0]]
            found.setdefault((backward_line(event), name), (event, []))[1].append(leaf)
    for (source, name), (event, leaves) in found.items():
        yield _returns(flow, event, name, leaves, "nothing but zeros", source)


def zeros_on_a_path(flow: Flow) -> Iterator[Case]:
    """Yield the cases of Functions that return zeros in every pass for what is computed from trained leaves.

    These get their gradients on other ways, as features do from their own loss beside one that is reversed.
    """
    alike: dict[tuple[SourceLine | None, str], list[int]] = {}
    for row, event in flow.of_kind("function", action="forward"):
        if flow.has_node(row):
            alike.setdefault((event.source, event.op), []).append(row)
    for rows in alike.values():
        figures = [one for row in rows for one in _passed(flow, row)]
        leaves = flow.leaves_behind(flow.behind(flow.inputs(rows[0]), rows[0])) & flow.optimized.keys()
        leaves = {leaf for leaf in leaves if flow.largest_norm[leaf] > NOTHING}
        if len(figures) >= STEADY and all(given and out == 0.0 for given, out in figures) and leaves:
            yield _zeros(flow, flow.events[rows[0]], sorted(leaves), len(figures))


def _passed(flow: Flow, row: int) -> Iterator[tuple[float | None, float | None]]:
    """Yield the norms of a node's incoming gradient and of what it passed on, where both were measured."""
    run = flow.run_after(row)
    snapshot = None if run is None or run.snapshot is None else flow.graph_of(run)
    if run is None or snapshot is None or not {"grad_norm", "out_norm"} <= set(snapshot.measures):
        return
    places = run.places(snapshot)
    for node in (places[one] for one in flow.nodes(row) if one in places):
        given, out = (snapshot.measures[key][node] for key in ("grad_norm", "out_norm"))
        if given is not None and out is not None:
            yield given, out


def _zeros(flow: Flow, event: Event, leaves: list[int], count: int) -> Case:
    """Return the case of a Function through which nothing comes back."""
    names = named(flow, leaves)
    return Case(
        kind="zero-gradient",
        message=f"{event.op}.backward{at(backward_line(event))} returned nothing but zeros each of the {count} times, "
        f"so {names} get nothing of what is computed by {event.op}.apply(...){at(event.source)}.",
        remedy=f"look at what {event.op} multiplies its gradient by: a factor or schedule that is zero in every step",
        source=event.source,
        op=event.op,
        severity="warning",
        because=(f"a gradient that is not zero arrived there {count} times, and none was passed on",),
        evidence={"leaves": [flow.name(leaf) for leaf in leaves], "passes": count},
    )


def _function_of(flow: Flow, row: int) -> Event | None:
    """Return the custom Function that a call is, or the outermost one whose forward made it, without a node then."""
    if flow.has_node(row):
        event = flow.events[row]
        return event if event.kind == "function" else None
    forwards = flow.rows.get("function", [])
    for later in forwards[bisect_right(forwards, row) :]:
        event = flow.events[later]
        if flow.has_node(later) and event.data.get("action") == "forward":
            return event if made_inside(flow, row, event, "forward") else None
    return None


def _given_as(flow: Flow, event: Event, leaf: int) -> str | None:
    """Return the parameter of forward for a leaf, or for what was computed from it; None if there is none."""
    places = [place for place, shape in enumerate(event.data.get("shapes", ())) if shape is not None]
    given, names = event.data.get("inputs", ()), event.data.get("parameters", ())
    for place, tensor in zip(places, given, strict=False):
        made = flow.behind([tensor], flow.call_of_node(event.data.get("node")) or 0).tensors
        if tensor == leaf or leaf in made:
            return str(names[place]) if place < len(names) else f"input {place}"
    return None


def _always_none(flow: Flow, event: Event, name: str) -> bool:
    """Whether all backward passes of a Function returned None for one of its inputs."""
    names = list(event.data.get("parameters", ()))
    place = names.index(name) if name in names else int(name.rpartition(" ")[2])
    measured = [one.data for _, one in flow.of_kind("function", action="checked") if one.op == event.op]
    if any(one.get("relative_error") and one.get("missing") and one.get("argument") == place for one in measured):
        return False
    alike = flow.of_kind("function", action="forward")
    nodes = {one.data.get("node") for _, one in alike if (one.op, one.source) == (event.op, event.source)}
    returned = [
        one.data.get("gradient_shapes", ())
        for _, one in flow.of_kind("function", action="backward")
        if one.data.get("node") in nodes
    ]
    return bool(returned) and all(place < len(shapes) and shapes[place] is None for shapes in returned)


def _passes_something(flow: Flow, rows: set[int]) -> bool:
    """Whether the node of one of these calls was seen to pass on a gradient that is not zero."""
    for run in flow.runs:
        snapshot = None if run.snapshot is None else flow.graph_of(run)
        if snapshot is None or "out_norm" not in snapshot.measures:
            continue
        places = run.places(snapshot)
        nodes = [places[one] for row in rows for one in flow.nodes(row) if one in places]
        if any(snapshot.measures["out_norm"][node] for node in nodes):
            return True
    return False


def _not_given(flow: Flow, event: Event, leaves: list[int]) -> Case:
    """Return the case of leaves that forward takes from somewhere else than its arguments."""
    names, one = named(flow, leaves), len(leaves) == 1
    them = "it" if one else "them"
    return Case(
        kind="broken-chain",
        message=f"{names} get{'s' if one else ''} no gradient: {event.op}.forward computes with {them}, but "
        f"{event.op}.apply(...){at(event.source)} is not given {them}. A custom Function's forward records no graph, "
        "so gradients reach only what apply is given.",
        remedy=f"give {names} to {event.op}.apply(...) as well, and let backward{at(backward_line(event))} return "
        f"{'its gradient' if one else 'their gradients'}",
        source=event.source,
        op=event.op,
        subjects=frozenset(leaves),
        evidence={"leaves": [flow.name(leaf) for leaf in leaves], "reason": "not an input of apply"},
    )


def _returns(flow: Flow, event: Event, name: str, leaves: list[int], what: str, source: SourceLine | None) -> Case:
    """Return the case of leaves whose gradient backward leaves out."""
    names, one = named(flow, leaves), len(leaves) == 1
    gets = "no gradient" if what == "None" else "a gradient of zero in every pass"
    return Case(
        kind="broken-chain",
        message=f"{names} get{'s' if one else ''} {gets}: {event.op}.backward{at(source)} returns {what} for {name}, "
        f"as which {event.op}.apply(...){at(event.source)} is given {'it' if one else 'them'}.",
        remedy=f"return the gradient of {name} in its place; what is to stay as it is: .requires_grad_(False), and no "
        "place in the optimizer",
        source=source,
        op=event.op,
        subjects=frozenset(leaves),
        evidence={"leaves": [flow.name(leaf) for leaf in leaves], "reason": f"backward returns {what}"},
    )


# Terms of a loss that are cut off from what it trains, and whose gradients no step ever uses.


def serves_nobody(flow: Flow, run: Run, cut: Cut, sums: set[int], leaves: Iterable[int]) -> list[int]:
    """Return the leaves that alone get a gradient from the term behind which a cut lies, if all of it is thrown away.

    As that of a critic whose gradients are cleared before its own turn.  ``leaves`` are those behind the cut, of which
    the run must train some, and ``sums`` the calls that only add up what becomes the loss.
    """
    arrived = flow.arrival_rows(run)
    if not any(leaf in arrived and not _is_thrown_away(flow, leaf, arrived[leaf]) for leaf in leaves):
        return []
    for row in sorted(sums):
        for term in flow.inputs(row):
            made = flow.last_producer(term, row, gradients=True)
            if made is None or made in sums:
                continue
            behind = flow.behind([term], row)
            reached = flow.leaves_behind(behind) & arrived.keys() if cut.taker in behind.calls else set()
            if reached and all(_is_thrown_away(flow, leaf, arrived[leaf]) for leaf in reached):
                return sorted(reached)
    return []


def _is_thrown_away(flow: Flow, leaf: int, arrivals: list[int]) -> bool:
    """Whether the next step of a leaf's optimizer finds nothing of the nonzero gradient that arrived there."""
    if not any(map(flow.ledger.brings, arrivals)):
        return False
    steps = flow.ledger.steps_of.get(leaf, [])
    following = bisect_right(steps, arrivals[-1], key=lambda step: step.row)
    if following == len(steps):
        return bool(steps)
    return arrivals[-1] not in flow.ledger.fresh(steps[following], leaf)
