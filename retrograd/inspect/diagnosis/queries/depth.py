"""Gradients that shrink or grow along a depth: the steps of a recurrence, or layers that one line applies."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from ...graphs.graph import Graph
from ...operators import Trait, is_a
from ...program.places import SourceLine
from ..base import Case
from ..facts.flow import Flow
from ..facts.nodes import call_of, ran
from ..facts.runs import Run
from ..facts.steps import clips
from ..text.words import at, counted, named, operator_word
from ..thresholds import CALLS_OF_A_STEP, FADED, LAYERS_ASKED, MADE_BY_DEPTH, SERIES, VANISHED
from .dependence import passed_by_all

Step = tuple[int, int]
"""Row of the call that made a point of a descent, and the point before."""


def descents(flow: Flow, run: Run) -> Iterator[list[int]]:
    """Yield, for each descent that a run goes back through, the calls that made its points, last first."""
    steps = _steps(flow, run)
    reached = flow.reached_by(run).calls
    for point in steps.keys() - {before for _, before in steps.values()}:
        rows: list[int] = []
        at: int | None = point
        while at is not None and at in steps:
            row, at = steps[at]
            rows.append(row)
        if reached.issuperset(rows):
            yield rows


def _steps(flow: Flow, run: Run) -> dict[int, Step]:
    """Return point -> the step to it, of all points at which a gradient with a history was asked for before a run."""
    found: dict[int, Step] = {}
    for asked in flow.runs:
        if asked.begin < run.begin and asked.began.get("create_graph") and not asked.accumulates:
            for point in asked.inputs:
                row = flow.last_producer(point, asked.begin, gradients=True)
                before = None if row is None else _point_before(flow, row)
                if row is not None and before is not None and before != point:
                    found[point] = row, before
    return found


def _point_before(flow: Flow, row: int) -> int | None:
    """Return the tensor whose gradient a call takes a step by."""
    level = [row]
    for _ in range(CALLS_OF_A_STEP):
        given = [(one, call) for call in level for one in flow.inputs(call)]
        made = [(one, flow.last_producer(one, call)) for one, call in given]
        taken = [(one, by) for one, by in made if by is not None and flow.is_gradient(by)]
        if taken:
            return _asked_for(flow, *taken[0])
        level = [by for _, by in made if by is not None]
    return None


def _asked_for(flow: Flow, gradient: int, row: int) -> int | None:
    """Return the tensor that a gradient is of, which ``autograd.grad`` returned among others."""
    data = flow.events[row].data
    return dict(zip(data.get("outputs", ()), data.get("inputs", ()), strict=False)).get(gradient)


_SMALLER_STEPS = (
    "a smaller inner step size: where it times the curvature is above 2, each step multiplies what is wrong; or fewer "
    "steps, or clip the gradients that they take"
)


@dataclass(slots=True)
class _Line:
    """The nodes that one line made, in the order in which they ran."""

    source: SourceLine | None
    nodes: list[int] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)
    """Logarithm of what each of them did to the gradient's norm."""

    @property
    def gain(self) -> float:
        """What they did to it, all together."""
        return sum(self.gains)


def grown(flow: Flow, run: Run, snapshot: Graph) -> Iterator[Case]:
    """Yield the case of a depth along which the gradient changes by many orders."""
    norms = {leaf: norm for leaf, arrived in flow.norms_in(run).items() if (norm := _largest(arrived))}
    if not norms:
        return
    largest, smallest = max(norms.values()), min(norms.values())
    descent = _growing_descent(flow, run, snapshot) if largest > VANISHED else None
    if descent is not None:
        yield _depth_case(flow, run, descent, [leaf for leaf in norms if norms[leaf] == largest], _SMALLER_STEPS)
        return
    lines = [line for line in _lines(snapshot) if len(line.nodes) >= SERIES]
    if not lines:
        return
    if largest > VANISHED:
        line = _depth_of(snapshot, lines, partial(_makes_grow, snapshot), lambda one: -one.gain)
        if line is not None:
            yield _depth_case(flow, run, line, [leaf for leaf in norms if norms[leaf] == largest])
    elif smallest < largest / VANISHED:
        line = _depth_of(snapshot, lines, partial(_makes_shrink, snapshot), lambda one: one.gain)
        if line is not None and not _taught_past(flow, run, line, norms):
            yield _depth_case(flow, run, line, [leaf for leaf in norms if norms[leaf] < largest / VANISHED])
    else:  # what is used at each depth, or gets as little at every depth, does not show it in its own gradient
        yield from _faded(flow, run, lines, norms)


def _growing_descent(flow: Flow, run: Run, snapshot: Graph) -> _Line | None:
    """Return the steps of the descent along which the gradient grows most, if it explodes there."""
    places = run.places(snapshot)
    found = []
    for rows in descents(flow, run):
        nodes = [places[node] for row in rows for node in flow.nodes(row)[-1:] if node in places]
        if len({flow.events[row].source for row in rows}) == 1 and len(nodes) >= SERIES:
            found.append(_Line(flow.events[rows[0]].source, nodes))
    line = max(found, key=lambda one: _growth(snapshot, one), default=None)
    return line if line is not None and _grows(snapshot, line) else None


def _growth(snapshot: Graph, line: _Line) -> float:
    """Return how many times as large the gradient is at the far end of a line as it was at the near one."""
    first, last = _ends(snapshot, line)
    return last / first if 0 < first < math.inf and math.isfinite(last) else 0.0


def _faded(flow: Flow, run: Run, lines: list[_Line], norms: dict[int, float]) -> Iterator[Case]:
    """Yield the case of a depth at whose far end next to nothing is left, however small all gradients are."""
    snapshot = flow.graph_of(run)
    for share in (FADED, 1 / VANISHED):
        line = _depth_of(snapshot, lines, partial(_shrinks, snapshot, share=share), lambda one: one.gain)
        row = None if line is None else call_of(flow, snapshot, line.nodes[-1])
        if line is None or row is None:
            continue
        behind = flow.leaves_behind(flow.behind(flow.inputs(row), row)).intersection(norms)
        if share != FADED or _iterates(flow, snapshot, line):  # only what nothing but the far end teaches
            behind = {leaf for leaf in behind if norms[leaf] < _ends(snapshot, line)[0] / VANISHED}
            behind -= {leaf for node in line.nodes for leaf in _taken(flow, snapshot, node)}
        behind -= _taught_past(flow, run, line, norms)
        if behind:
            yield _depth_case(flow, run, line, sorted(behind))
            return


def _taught_past(flow: Flow, run: Run, line: _Line, norms: dict[int, float]) -> set[int]:
    """Return the leaves used only behind the far end of a line, with gradients nearer to those of the near end.

    These reach them past the line, as the sum around a residual branch does, or by many ways that are small each.  What
    several steps of the line take, such as weights, gets its gradient from the first of them.
    """
    snapshot = flow.graph_of(run)
    row = call_of(flow, snapshot, line.nodes[-1])
    if row is None:
        return set()
    given = Counter(one for node in line.nodes for one in _taken(flow, snapshot, node))
    shared = flow.behind([one for one, count in given.items() if count > 1], row).tensors
    near, far = _ends(snapshot, line)
    behind, taken = flow.behind(flow.inputs(row), row), flow.reached_by(run).calls
    return {
        leaf
        for leaf in (flow.leaves_behind(behind) - shared).intersection(norms)
        if norms[leaf] > math.sqrt(near * far) and behind.calls.issuperset(taken.intersection(flow.used_in.get(leaf)))
    }


def _iterates(flow: Flow, snapshot: Graph, line: _Line) -> bool:
    """Whether the steps take nothing but the state and what they share, as those of a fixed-point iteration do.

    Where such steps contract, the first ones have nothing to teach: they know what the last ones know, and the start.
    """
    rows = [row for node in line.nodes if (row := call_of(flow, snapshot, node)) is not None]
    first, second, *_, last = sorted(rows)
    state = flow.descendants(flow.outputs(first), first)
    between = state.calls & flow.behind(flow.inputs(last), last).calls
    given = Counter(
        one for row in between if row > second for one in flow.inputs(row) if one not in state.tensors
    )  # the first step takes what was made of the start
    return bool(given) and min(given.values()) > 1


def _taken(flow: Flow, snapshot: Graph, node: int) -> Sequence[int]:
    """Return the inputs of a node's call."""
    row = call_of(flow, snapshot, node)
    return [] if row is None else flow.inputs(row)


def _depth_of(
    snapshot: Graph, lines: list[_Line], changes: Callable[[_Line], bool], order: Callable[[_Line], float]
) -> _Line | None:
    """Return the first line, in an order, that changes the gradient and whose nodes follow one another.

    Or else the first whose nodes do so in one of several depths beside each other, as those of several sequences.
    """
    after: dict[int, list[int]] = {}
    for source, target, _, _ in snapshot.edges():
        after.setdefault(source, []).append(target)
    changing = sorted(filter(changes, lines), key=order)
    for line in changing:
        seen, todo = {line.nodes[0]}, [line.nodes[0]]
        while todo:
            fresh = [node for node in after.get(todo.pop(), ()) if node not in seen]
            seen.update(fresh)
            todo.extend(fresh)
        if line.nodes[-1] in seen:
            return line
    for line in changing:
        found = sorted(filter(changes, _depths_within(snapshot, after, line)), key=order)
        if found:
            return found[0]
    return None


def _depths_within(snapshot: Graph, after: dict[int, list[int]], line: _Line) -> Iterator[_Line]:
    """Yield the longest rows of a line's nodes that follow one another."""
    gains = dict(zip(line.nodes, line.gains, strict=True))
    longest: dict[int, tuple[int, int]] = {}  # node -> how many of the line lie on a way to it, and the last of them
    before: dict[int, tuple[int, int]] = {}
    for node in ran(snapshot):
        passed = longest.pop(node, (0, -1))
        if node in gains:
            before[node], passed = passed, (passed[0] + 1, node)
        for following in after.get(node, ()):
            longest[following] = max(longest.get(following, passed), passed)
    length = max((count for count, _ in before.values()), default=0)
    if length + 1 < SERIES:
        return
    for last in [node for node, (count, _) in before.items() if count == length][:LAYERS_ASKED]:
        nodes, node = [], last
        while node >= 0:
            nodes.append(node)
            node = before[node][1]
        nodes.reverse()
        yield _Line(line.source, nodes, [gains[node] for node in nodes])


def _makes_grow(snapshot: Graph, line: _Line) -> bool:
    """Whether the gradient grows along a line, and because of it."""
    return line.gain > math.log(MADE_BY_DEPTH) and _grows(snapshot, line)


def _makes_shrink(snapshot: Graph, line: _Line) -> bool:
    """Whether the gradient shrinks along a line, and because of it.

    Where other lines make up for what one takes away, the gradient that it gets does not shrink.
    """
    return line.gain < -math.log(MADE_BY_DEPTH) and _shrinks(snapshot, line, share=1 / MADE_BY_DEPTH)


def _grows(snapshot: Graph, line: _Line) -> bool:
    """Whether the gradient is much larger at the far end of a line."""
    return _growth(snapshot, line) > MADE_BY_DEPTH


def _shrinks(snapshot: Graph, line: _Line, share: float) -> bool:
    """Whether less than a share of the gradient is left at the far end of a line, and lost along its steps."""
    first, last = _ends(snapshot, line)
    return last < first * share and not _goes_past(snapshot, line, first * math.sqrt(share))


def _goes_past(snapshot: Graph, line: _Line, enough: float) -> bool:
    """Whether enough of the gradient arrives where the last steps of a line branch off, and is lost in these alone.

    As in a sum of many updates of which the first are small: what they are added to is passed on as it is.
    """
    order, norms = snapshot.measures["order"], snapshot.measures["grad_norm"]
    since = order[line.nodes[-len(line.nodes) // 4]] or 0
    late = (node for node in passed_by_all(snapshot, line.nodes[-1]) if (order[node] or 0) >= since)
    return any((norms[node] or 0.0) >= enough for node in late)


def _ends(snapshot: Graph, line: _Line) -> tuple[float, float]:
    """Return the norms of the gradients that the first and the last node of a line got."""
    first, last = (snapshot.measures["grad_norm"][line.nodes[place]] or 0.0 for place in (0, -1))
    return first, last


def _largest(norms: list[float | None]) -> float | None:
    finite = [norm for norm in norms if norm is not None and math.isfinite(norm)]
    return max(finite, default=None)


def _lines(snapshot: Graph) -> list[_Line]:
    """Return the factor of each line on the gradient's norm."""
    found: dict[tuple[SourceLine | None, str], _Line] = {}
    passed_on = _passed_on(snapshot)
    for node in ran(snapshot):
        given, passed = snapshot.measures["grad_norm"][node], snapshot.measures["out_norm"][node]
        if given is None or passed is None or not (0 < given < math.inf and 0 < passed < math.inf):
            continue
        line = found.setdefault((snapshot.source[node], snapshot.op[node]), _Line(snapshot.source[node]))
        line.nodes.append(node)
        line.gains.append(math.log(passed_on.get(node, passed) / given))
    return list(found.values())


def _passed_on(snapshot: Graph) -> dict[int, float]:
    """Return node -> norm of the gradient it passed on to the only node behind it that does not just lead to a leaf.

    The gradient of a layer's own weight and bias is often much larger than what continues along the depth.
    """
    behind: dict[int, set[int]] = {}
    users: dict[int, set[int]] = {}
    for source, target, _, _ in snapshot.edges():
        behind.setdefault(source, set()).add(target)
        users.setdefault(target, set()).add(source)
    found = {}
    for node, targets in behind.items():
        going_on = [target for target in targets if any(behind.get(one) for one in behind.get(target, ()))]
        if len(targets) > 1 and len(going_on) == 1 and len(users[going_on[0]]) == 1:
            norm = snapshot.measures["grad_norm"][going_on[0]]
            if norm is not None and 0 < norm < math.inf:
                found[node] = norm
    return found


def _is_clipped(flow: Flow, run: Run, leaves: list[int]) -> bool:
    """Whether the gradients of a pass are clipped together before a step uses them."""
    step = next((row for row in flow.optimizer_steps if row > run.end), len(flow.events))
    around = (event for row, event in flow.of_kind("clip") if run.end < row < step)
    return any(clips(flow, event) and set(leaves).issubset(event.data.get("inputs", ())) for event in around)


def _remedy(op: str, *, grows: bool, clipped: bool) -> str:
    """Return what to change, by the operator that changes the gradient."""
    if grows:
        clip = "" if clipped else "clip gradients (torch.nn.utils.clip_grad_norm_), "
        return f"{clip}start orthogonally, or use gates or normalisation"
    if is_a(op, Trait.PRODUCT):  # which shrinks a gradient by the size of weights alone
        return "start from larger weights (torch.nn.init.xavier_normal_), or use normalisation or residual connections"
    return "use relu or gates in place of saturating functions, normalisation, or residual connections"


def _differentiated(flow: Flow, run: Run, line: _Line) -> tuple[_Line, Graph] | None:
    """Return the depth that a gradient was taken through which has a history itself, if its line is the given one.

    The nodes of that history all come from the line that asked for the gradient; what they repeat is the depth.
    """
    asking = (one for one in flow.runs if one.began.get("create_graph") and one.source == line.source)
    taken = [one for one in asking if one.end < run.begin and one.snapshot is not None]
    if not taken:
        return None
    snapshot = flow.graph_of(taken[-1])
    if not {"order", "grad_norm", "out_norm"} <= set(snapshot.measures):
        return None
    deep = [one for one in _lines(snapshot) if len(one.nodes) >= SERIES]
    found = _depth_of(snapshot, deep, lambda one: True, lambda one: -abs(one.gain))
    return None if found is None else (found, snapshot)


def _depth_case(flow: Flow, run: Run, line: _Line, leaves: list[int], remedy: str = "") -> Case:
    """Return the case of one line that is repeated along the depth.

    ``remedy``: what to write instead, where the operator does not say it.
    """
    snapshot = flow.graph_of(run)
    norms = _ends(snapshot, line)
    shown, places = _differentiated(flow, run, line) or (line, snapshot)
    rows = [row for node in shown.nodes if (row := call_of(flow, places, node)) is not None]
    op = flow.events[rows[0]].op if rows else operator_word(places.op[shown.nodes[0]])
    again = f", whose gradient is taken{at(line.source)} to be trained through," if shown is not line else ""
    factor = (norms[1] / norms[0]) ** (1 / (len(line.nodes) - 1))
    spelled = [name for name in flow.events[rows[0]].data.get("names", []) if name] if rows else []
    made = [name for name in (flow.events[rows[0]].data.get("output_names") or []) if name] if rows else []
    inside = f"{op}({', '.join(spelled)})" + (f" = {made[0]}" if made else "")
    grows = norms[1] > norms[0]  # the gain counts what a sum hands to each of its inputs
    clipped = grows and _is_clipped(flow, run, leaves)
    verb = "grows (explodes)" if grows else "shrinks (vanishes)"
    return Case(
        kind="exploding" if grows else "vanishing",
        message=f"the gradient {verb} about {factor:.3g} times per step through {inside}{at(shown.source)}"
        f"{again or ':'} from {norms[0]:.1e} to {norms[1]:.1e} over {counted(len(line.nodes), 'step')}, down to "
        f"{named(flow, leaves)}{', before it is clipped' if clipped else ''}.",
        severity="note" if clipped else None,
        remedy=remedy or _remedy(op, grows=grows, clipped=clipped),
        source=shown.source,
        op=op,
        subjects=frozenset(leaves),
        marks=flow.marks(run, rows[:1] + rows[-1:], f"{norms[0]:.1e} … {norms[1]:.1e}"),
        evidence={"factor": factor, "steps": len(line.nodes), "norms": list(norms)},
    )
