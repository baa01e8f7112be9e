"""Results that are the same whatever goes in, as those of a normalisation over a single entry: nothing is learned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from ....snapshot import GraphSnapshot
from ...base import Case
from ...recorded.flow import Flow
from ...recorded.runs import Run
from ...words import at, listed
from .lost_gradients import is_zero, lost_in

_ROUNDING = 1e-5
"""Share of the gradient of a constant that may arrive behind it: what two ways to a leaf do not quite cancel."""
_SIGMOID = "torch.sigmoid for a single output, or the dimension that holds the alternatives"
_ONE_CLASS = (
    "torch.nn.functional.binary_cross_entropy_with_logits for a single output, or one output for each of the classes"
)
_CHANCES = {"softmax": (1.0, _SIGMOID), "softmin": (1.0, _SIGMOID), "log_softmax": (0.0, _ONE_CLASS)}
"""Operator -> its result for a single entry, and what to write instead."""
_TOGETHER = "normalise over the dimension that holds the entries to compare, or leave it out"


@dataclass(frozen=True, slots=True)
class _Constant:
    """What a call computes that cannot depend on what it is given."""

    why: str
    """Why that is so, after the name of the operator."""
    remedy: str


def constant_results(flow: Flow, run: Run, snapshot: GraphSnapshot) -> Iterator[Case]:
    """Yield a case for each call whose result is constant and through which alone some leaves are trained."""
    reported = set()
    for row in sorted(flow.reached_by(run).calls):
        event = flow.events[row]
        constant = None if event.source in reported or not flow.has_node(row) else _constant(flow, row)
        leaves = [] if constant is None or not _always(flow, row) else _untaught(flow, run, snapshot, row)
        if constant is None or not leaves:
            continue
        reported.add(event.source)
        yield Case(
            kind="zero-gradient",
            message=f"{event.op}{at(event.source)} {constant.why}: {listed(map(flow.name, leaves))} "
            f"get{'s' if len(leaves) == 1 else ''} a gradient of zero.",
            remedy=constant.remedy,
            source=event.source,
            op=event.op,
            subjects=frozenset(leaves),
            marks=flow.marks(run, [row], "constant"),
            evidence={"result": event.data.get("range", [None])[0]},
        )


def _constant(flow: Flow, row: int) -> _Constant | None:
    """Return what a call computes if that cannot depend on what it is given."""
    return _one_entry(flow, row) or _against_itself(flow, row)


def _always(flow: Flow, row: int) -> bool:
    """Whether all calls from a line are constant, as far as it is known what came out."""
    event = flow.events[row]
    alike = (call for call in flow.made_at(event.source, event.op) if flow.events[call].data.get("range", [None])[0])
    return all(_constant(flow, call) is not None for call in alike)


def _untaught(flow: Flow, run: Run, snapshot: GraphSnapshot, row: int) -> list[int]:
    """Return the leaves behind a call that no run gives more than the rounding errors of a gradient."""
    places = run.places(snapshot)
    given = [snapshot.measures["grad_norm"][places[node]] or 0.0 for node in flow.nodes(row) if node in places]
    noise = _ROUNDING * max(given, default=0.0)
    behind = flow.leaves_behind(flow.behind(flow.inputs(row), row)) if noise else set()
    return sorted(leaf for leaf in behind if _is_untaught(flow, leaf, noise))


def _is_untaught(flow: Flow, leaf: int, noise: float) -> bool:
    """Whether no run gave a leaf a gradient above the noise, and at least one gave it some."""
    arrived, asked = flow.norms_of.get(leaf, ()), flow.runs_asking.get(leaf, ())
    nothing = all(is_zero(norms, noise) for norms in arrived) and all(leaf in lost_in(flow, run) for run in asked)
    return nothing and bool(arrived or asked)


# -- a single entry, normalised


def _one_entry(flow: Flow, row: int) -> _Constant | None:
    """Return what a call computes that normalises entries over one of them each; None for another."""
    event = flow.events[row]
    op, name = event.op, _first_name(flow, row)
    if op in _CHANCES:
        value, remedy = _CHANCES[op]
        if event.data.get("range", [None])[0] != [value, value]:  # of several entries none has the whole
            return None
        return _Constant(f"runs over a dimension of size 1, so its result is {value:g} whatever {name} is", remedy)
    if op == "cross_entropy" and _classes(flow, row) == 1:
        return _Constant(f"is given a single class, so it is 0 whatever {name} is", _ONE_CLASS)
    if op in _ENTRIES and _ENTRIES[op](flow, row) == 1:
        return _Constant(f"normalises each entry by itself, so its result is the same whatever {name} is", _TOGETHER)
    return None


def _first_name(flow: Flow, row: int) -> str:
    """Return what the line calls a call's first input."""
    first = flow.inputs(row)[0]
    return flow.name(first, flow.events[row].source) if flow.spelling.has_name(first) else "its input"


def _shape(flow: Flow, row: int) -> tuple[int, ...]:
    """Return the shape of a call's first input."""
    return tuple(flow.facts(flow.inputs(row)[0]).shape)


def _classes(flow: Flow, row: int) -> int:
    """Return how many classes a cross entropy is given."""
    shape = _shape(flow, row)
    return shape[1] if len(shape) > 1 else prod(shape)


def _in_layer(flow: Flow, row: int) -> int:
    """Return how many entries a layer normalisation puts together."""
    given = flow.events[row].data.get("arguments", {})
    shape = given.get("1", given.get("normalized_shape"))
    return prod(shape) if isinstance(shape, list | tuple) else int(shape or 0)


def _in_group(flow: Flow, row: int) -> int:
    """Return how many entries a group normalisation puts together."""
    given, shape = flow.events[row].data.get("arguments", {}), _shape(flow, row)
    groups = given.get("1", given.get("num_groups", given.get("3")))
    return prod(shape[1:]) // int(groups) if groups else 0


_ENTRIES = {"layer_norm": _in_layer, "group_norm": _in_group}
"""Operator -> how many entries it puts together."""


# -- a value, and the same value again


def _against_itself(flow: Flow, row: int) -> _Constant | None:
    """Return what a difference or quotient computes of a value and of what was made of it, the same in all entries."""
    event = flow.events[row]
    value = {"sub": 0.0, "div": 1.0}.get(event.op)
    given, made = event.data.get("inputs", []), event.data.get("outputs", [])
    if value is None or event.data.get("range", [None])[0] != [value, value] or len(given) != 2 or len(made) != 1:
        return None
    shapes = {tuple(flow.facts(one).shape) for one in (*given, made[0])}
    if len(shapes) > 1 or prod(shapes.pop()) < 2 or not _made_of_the_other(flow, row, *given):
        return None
    verb = "takes from" if value == 0 else "divides"
    name = _first_name(flow, row)
    same = f"{verb} {name} what is the same in every entry" if value == 0 else f"{verb} {name} by itself in every entry"
    return _Constant(f"{same}, so its result is {value:g} whatever {name} is", _OTHER)


_OTHER = "reduce over the dimension that holds several entries (a sum or mean over one entry is that entry)"


def _made_of_the_other(flow: Flow, row: int, one: int, other: int) -> bool:
    """Whether one of two tensors was computed from the other, so that gradients through both cancel."""
    return any(a in flow.behind([b], row).tensors for a, b in ((one, other), (other, one)))
