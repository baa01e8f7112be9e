"""Gradients that die out, blow up or are cut to zero on their way from the loss to the leaves."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..snapshot import GraphSnapshot, SourceLine
from .base import Case, Check, Kind, Stage
from .create_graph import LINEAR
from .flow import Flow
from .runs import Run
from .words import at, counted, listed, operator_word

KINDS = {
    "vanishing": Kind("gradient shrinks along the depth", "warning", Stage.VALUES),
    "exploding": Kind("gradient grows along the depth", "warning", Stage.VALUES),
    "dead-relu": Kind("all units of a relu are off", "warning", Stage.VALUES),
    "saturation": Kind("the flat part of tanh, sigmoid and the like", "warning", Stage.VALUES),
    "zero-gradient": Kind("an operation with zero derivative", "error", Stage.VALUES),
    "underflow": Kind("the gradient rounds to zero in the dtype used", "error", Stage.VALUES),
}
_SATURATING = frozenset({"tanh", "sigmoid", "hardtanh", "hardsigmoid", "erf", "softsign", "logsigmoid", "atan", "silu"})
_STEPS = frozenset(
    {"round", "floor", "ceil", "trunc", "fix", "sign", "sgn", "heaviside", "floor_divide", "clamp", "clip"}
)
_RELUS = frozenset({"relu", "threshold", "relu6", "rrelu"})
_CLAMPS = frozenset({"clamp", "clip", "clamp_min", "clamp_max"})
_ADDING_UP = LINEAR | {"min", "max", "minimum", "maximum", "squeeze", "unsqueeze", "getitem", "masked_select", "dot"}
_HALF = {"float16": 5.96e-8, "bfloat16": 9.2e-41}
"""Dtype -> smallest positive number."""
_NOTHING = 1e-12
"""Norm of a gradient, and share of one that a node passes on, below which nothing is left."""
_SPAN = 1e6
"""Ratio of gradients along the depth that counts as vanished or exploded."""
_FADED = 1e-9
"""Share of a gradient that is left at the other end of a depth below which the first steps teach nothing."""
_DEPTH = 5
"""Repetitions of one line from which on it is a depth."""


@dataclass(slots=True)
class _Line:
    """The nodes that one line made, in the order in which they ran."""

    source: SourceLine | None
    nodes: list[int] = field(default_factory=list)
    gain: float = 0.0
    """Logarithm of what they did to the gradient's norm, all together."""


def find(flow: Flow) -> Iterator[Case]:
    """Yield the cases of the first run that shows one."""
    for run in flow.runs:
        if run.snapshot is None or run.error or run.nested:
            continue
        snapshot = flow.recording.snapshots[run.snapshot]
        if not {"order", "grad_norm", "out_norm", "out_zero_share"} <= set(snapshot.measures):
            continue
        found = list(_zeroed(flow, run, snapshot)) or list(_grown(flow, run, snapshot))
        if found:
            yield from found
            return


CHECK = Check("flat", KINDS, find)


# -- gradients that became zero


def _zeroed(flow: Flow, run: Run, snapshot: GraphSnapshot) -> Iterator[Case]:
    """Yield a case for each node that was given a gradient and passed on nothing but zeros."""
    lost = [leaf for leaf, norms in flow.norms_in(run).items() if _is_zero(norms)]
    if not lost:
        return
    measures, told = snapshot.measures, set()
    for node in _ran(snapshot):
        given, passed = measures["grad_norm"][node], measures["out_norm"][node]
        if not given or passed is None or math.isnan(given) or passed > given * _NOTHING:
            continue
        row = _call(flow, snapshot, node)
        if row is None or flow.events[row].source in told:
            continue
        case = _zero_case(flow, run, (node, row), lost)
        if case is not None and case.source not in told:  # an underflow is told of the line where it began
            told.add(case.source)
            yield case


def _is_zero(norms: list[float | None]) -> bool:
    """Whether the gradient that a leaf got in a run has no entry worth the name."""
    return all(norm is not None and norm < _NOTHING for norm in norms)


def _ran(snapshot: GraphSnapshot) -> list[int]:
    """Return the nodes in the order in which they ran."""
    order = snapshot.measures["order"]
    return [node for _, node in sorted((when, node) for node, when in enumerate(order) if when is not None)]


def _call(flow: Flow, snapshot: GraphSnapshot, node: int) -> int | None:
    seq = snapshot.seq[node]
    return None if seq is None else flow.call_of_node(snapshot.first_seq + seq)


def _zero_case(flow: Flow, run: Run, place: tuple[int, int], lost: list[int]) -> Case | None:
    """Return the case of a node that let nothing through, if its operator explains that."""
    node, row = place
    event = flow.events[row]
    behind = flow.leaves_behind(flow.behind(flow.inputs(row), row))
    leaves = [leaf for leaf in lost if leaf in behind]
    if not leaves:
        return None
    op, names = event.op.strip("_"), listed(flow.name(leaf) for leaf in leaves)
    snapshot = flow.recording.snapshots[run.snapshot or 0]
    marks = flow.marks(run, [row], "the gradient stops here")
    dtype = snapshot.dtype[node] or ""
    shown = f"{op}{at(event.source)}"
    flat = event.data.get("flat_share", 0.0)
    low, high = _limits(flow, row)
    if op in _RELUS | _CLAMPS and _is_hinge(flow, row, run):
        return None
    if op in _RELUS and flat == 1.0:
        kind = "dead-relu"
        message = f"all units of {shown} are off (its input is at most {high:g}): {names} get{_s(leaves)} no gradient."
        remedy = "a smaller learning rate, another initialisation of the bias, or leaky_relu"
    elif op in _SATURATING and flat > 0.9:
        kind = "saturation"
        message = (
            f"{shown} is saturated (its input reaches from {low:g} to {high:g}, slope zero for {flat:.0%} of the "
            f"entries): the gradient vanishes there, and {names} get{_s(leaves)} none."
        )
        remedy = f"normalise the input of {op}, or start with smaller weights"
    elif op in _STEPS or "rounding_mode" in event.data.get("arguments", {}):
        kind = "zero-gradient"
        message = f"{shown} has derivative zero everywhere it was used, so {names} get{_s(leaves)} a gradient of zero."
        remedy = f"a straight-through estimate: x + ({op}(x) - x).detach()"
    elif dtype in _HALF:
        return _underflow(flow, run, place, leaves)
    else:
        return None
    return Case(
        kind=kind,
        message=message,
        remedy=remedy,
        source=event.source,
        op=event.op,
        subjects=frozenset(leaves),
        marks=marks,
        evidence={"flat_share": flat, "input": [low, high]},
    )


def _s(leaves: list[int]) -> str:
    return "s" if len(leaves) == 1 else ""


def _limits(flow: Flow, row: int) -> tuple[float, float]:
    """Return least and largest value of a call's first input, as its maker told."""
    for tensor in flow.inputs(row)[:1]:
        made = flow.last_producer(tensor, row, lambda call: bool(flow.events[call].data.get("range")))
        if made is not None:
            data = flow.events[made].data
            place = data["outputs"].index(tensor) if tensor in data.get("outputs", ()) else 0
            limits = data["range"][place] if place < len(data["range"]) else None
            if limits:
                return float(limits[0]), float(limits[1])
    return math.nan, math.nan


def _is_hinge(flow: Flow, row: int, run: Run) -> bool:
    """Whether a loss only adds up what a call gave: that all of it lies on the flat side is what training aims at."""
    reached = flow.reached_by(run).calls
    after = reached & flow.descendants(flow.outputs(row), row, reached.__contains__).calls
    mixed = any(flow.requires_grad(t) and flow.is_leaf(t) for call in after for t in flow.inputs(call))
    return not mixed and all(flow.events[call].op.strip("_") in _ADDING_UP for call in after)


def _first_tiny(flow: Flow, snapshot: GraphSnapshot, place: tuple[int, int]) -> tuple[int, int]:
    """Return the first node that ran, with its call, which passed on mostly less than the smallest normal number."""
    tiny = snapshot.measures.get("out_tiny_share", [])
    for node in _ran(snapshot):
        row = _call(flow, snapshot, node) if tiny and (tiny[node] or 0.0) >= 0.5 else None
        if row is not None:
            return node, row
        if node == place[0]:
            break
    return place


def _underflow(flow: Flow, run: Run, place: tuple[int, int], leaves: list[int]) -> Case:
    """Return the case of a gradient that was too small for its dtype."""
    snapshot = flow.recording.snapshots[run.snapshot or 0]
    node, row = _first_tiny(flow, snapshot, place)
    dtype = snapshot.dtype[node] or ""
    event = flow.events[row]
    norm = snapshot.measures["grad_norm"][node] or 0.0
    return Case(
        kind="underflow",
        message=f"the gradient falls below the smallest {dtype} number {_HALF[dtype]:g} behind "
        f"{event.op}{at(event.source)} (it arrives with norm {norm:.2g} and underflows to zero): "
        f"{listed(flow.name(leaf) for leaf in leaves)} get{_s(leaves)} none.",
        remedy="scale the loss (torch.amp.GradScaler), or compute the loss in float32: .float()",
        source=event.source,
        op=event.op,
        subjects=frozenset(leaves),
        marks=flow.marks(run, [row], "underflow"),
        evidence={"dtype": dtype, "grad_norm": norm},
    )


# -- gradients that shrink or grow with the depth


def _grown(flow: Flow, run: Run, snapshot: GraphSnapshot) -> Iterator[Case]:
    """Yield the case of a depth along which the gradient changes by many orders."""
    norms = {leaf: norm for leaf, arrived in flow.norms_in(run).items() if (norm := _largest(arrived))}
    if not norms:
        return
    largest, smallest = max(norms.values()), min(norms.values())
    lines = [line for line in _lines(snapshot) if len(line.nodes) >= _DEPTH]
    if not lines:
        return
    if largest > _SPAN:
        line = _first_of_a_depth(snapshot, sorted(lines, key=lambda one: -one.gain))
        if line is not None and line.gain > math.log(1e4):
            yield _depth_case(flow, run, line, [leaf for leaf in norms if norms[leaf] == largest])
    elif smallest < largest / _SPAN:
        line = _first_of_a_depth(snapshot, sorted(lines, key=lambda one: one.gain))
        if line is not None and line.gain < -math.log(1e4):
            yield _depth_case(flow, run, line, [leaf for leaf in norms if norms[leaf] < largest / _SPAN])
    else:  # what is used at each depth, or gets as little at every depth, does not show it in its own gradient
        faded = [line for line in lines if _ends(snapshot, line)[1] < _ends(snapshot, line)[0] * _FADED]
        line = _first_of_a_depth(snapshot, sorted(faded, key=lambda one: one.gain))
        row = None if line is None else _call(flow, snapshot, line.nodes[-1])
        if line is not None and row is not None:
            behind = flow.leaves_behind(flow.behind(flow.inputs(row), row))
            yield _depth_case(flow, run, line, sorted(behind.intersection(norms)))


def _first_of_a_depth(snapshot: GraphSnapshot, lines: list[_Line]) -> _Line | None:
    """Return the first line whose nodes follow one another; those of side branches do not."""
    after: dict[int, list[int]] = {}
    for source, target, _, _ in snapshot.edges():
        after.setdefault(source, []).append(target)
    for line in lines:
        seen, todo = {line.nodes[0]}, [line.nodes[0]]
        while todo:
            fresh = [node for node in after.get(todo.pop(), ()) if node not in seen]
            seen.update(fresh)
            todo.extend(fresh)
        if line.nodes[-1] in seen:
            return line
    return None


def _ends(snapshot: GraphSnapshot, line: _Line) -> tuple[float, float]:
    """Return the norms of the gradients that the first and the last node of a line got."""
    first, last = (snapshot.measures["grad_norm"][line.nodes[place]] or 0.0 for place in (0, -1))
    return first, last


def _largest(norms: list[float | None]) -> float | None:
    finite = [norm for norm in norms if norm is not None and math.isfinite(norm)]
    return max(finite, default=None)


def _lines(snapshot: GraphSnapshot) -> list[_Line]:
    """Return what each line did to the gradient's norm."""
    found: dict[tuple[SourceLine | None, str], _Line] = {}
    for node in _ran(snapshot):
        given, passed = snapshot.measures["grad_norm"][node], snapshot.measures["out_norm"][node]
        if not given or not passed or not math.isfinite(given) or not math.isfinite(passed):
            continue
        line = found.setdefault((snapshot.source[node], snapshot.op[node]), _Line(snapshot.source[node]))
        line.nodes.append(node)
        line.gain += math.log(passed / given)
    return list(found.values())


def _depth_case(flow: Flow, run: Run, line: _Line, leaves: list[int]) -> Case:
    """Return the case of one line that is repeated along the depth."""
    snapshot = flow.recording.snapshots[run.snapshot or 0]
    rows = [row for node in line.nodes if (row := _call(flow, snapshot, node)) is not None]
    op = flow.events[rows[0]].op if rows else operator_word(snapshot.op[line.nodes[0]])
    norms = _ends(snapshot, line)
    factor = (norms[1] / norms[0]) ** (1 / (len(line.nodes) - 1))
    spelled = [name for name in flow.events[rows[0]].data.get("names", []) if name] if rows else []
    made = [name for name in (flow.events[rows[0]].data.get("output_names") or []) if name] if rows else []
    inside = f"{op}({', '.join(spelled)})" + (f" = {made[0]}" if made else "")
    grows = line.gain > 0
    verb = "grows (explodes)" if grows else "shrinks (vanishes)"
    return Case(
        kind="exploding" if grows else "vanishing",
        message=f"the gradient {verb} about {factor:.3g} times per step through {inside}{at(line.source)}: from "
        f"{norms[0]:.1e} to {norms[1]:.1e} over {counted(len(line.nodes), 'step')}, down to "
        f"{listed(flow.name(leaf) for leaf in leaves)}.",
        remedy="clip gradients (torch.nn.utils.clip_grad_norm_), start orthogonally, or use gates or normalisation"
        if grows
        else "use relu or gates in place of saturating functions, normalisation, or residual connections",
        source=line.source,
        op=op,
        subjects=frozenset(leaves),
        marks=flow.marks(run, rows[:1] + rows[-1:], f"{norms[0]:.1e} … {norms[1]:.1e}"),
        evidence={"factor": factor, "steps": len(line.nodes), "norms": list(norms)},
    )
