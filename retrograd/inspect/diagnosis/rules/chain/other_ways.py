"""Paths of values from trained leaves to a loss without gradients, while gradients take other paths there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from ....findings import Severity
from ....operators import Trait
from ....program.places import SourceLine
from ...base import Case
from ...facts.call_inputs import limits_and_sum, limits_of
from ...facts.flow import Flow
from ...facts.runs import Run
from ...queries.constants import Constants, Cut, is_computed
from ...queries.detached_values import leaving_words, term_cut
from ...queries.distance import counts_by_size
from ...roles.compared import alike
from ...roles.trained import expected_gradients
from ...text.words import at, counted, named
from ...thresholds import CUTS_ALIKE, HABIT
from .cut_words import NO_DERIVATIVE, cause_of, remedy_of, what_cut
from .functions import serves_nobody
from .penalties import only_penalised

_DELIBERATE = ("detach", "data")
"""Reasons of cuts that look intended: on one path of several they are worth a note."""


def other_ways(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line that unintentionally ends a path of values."""
    constants, reported, silent = Constants(flow), set[SourceLine | None](), set[tuple[SourceLine | None, str]]()
    wanted = set(flow.optimized) or {*expected_gradients(flow), *flow.accumulated}
    for run in _usual_runs(flow):
        sums = _sums_behind(flow, run)
        cuts = list(_few(flow, constants.cuts(run)))
        penalised = only_penalised(flow, run, sums, cuts)
        for cut in cuts:
            source = flow.events[cut.row].source
            leaves = flow.leaves_behind(flow.behind([cut.given], cut.row)) & wanted if source not in reported else set()
            against = _against(flow, cut, leaves, constants) if leaves else ""
            if against:
                if (source, against) not in silent:
                    silent.add((source, against))
                    yield replace(_path_case(flow, run, cut, sorted(leaves)), against=against)
                continue
            case = _case_of(flow, run, cut, sums, sorted(leaves)) if leaves else None
            if leaves and penalised.issuperset(leaves) and not _served_elsewhere(flow, run, leaves):
                case = _path_case(flow, run, cut, sorted(leaves), penalty=True)
            if case is not None:
                reported.add(source)
                yield case
        for cut in _replaced_terms(flow, run, sums, constants.since(run), wanted):
            if flow.events[cut.row].source not in reported:
                reported.add(flow.events[cut.row].source)
                yield _term_case(flow, run, cut, "warning" if cut.operand is not None else "error")


def _usual_runs(flow: Flow) -> list[Run]:
    """Return the second and the last pass from each line: before the first a program may compute constants."""
    by_line: dict[SourceLine | None, list[Run]] = {}
    for run in flow.runs:
        if not run.nested and not run.error:
            by_line.setdefault(run.source, []).append(run)
    return [run for runs in by_line.values() for run in (*runs[1:-1][:1], runs[-1])]


def _few(flow: Flow, cuts: Iterator[Cut]) -> Iterator[Cut]:
    """Yield the first cuts of each line that each line takes."""
    met: dict[tuple[object, ...], int] = {}
    for cut in cuts:
        taker, event = flow.events[cut.taker], flow.events[cut.row]
        place = taker.source, taker.op, event.source, event.op
        met[place] = met.get(place, 0) + 1
        if met[place] <= CUTS_ALIKE:
            yield cut


def _sums_behind(flow: Flow, run: Run) -> set[int]:
    """Return the calls that only sum, scale or rearrange what becomes the roots of a pass."""
    reached, found = flow.reached_by(run).calls, set[int]()
    todo = [(root, run.begin) for root in run.roots]
    while todo:
        tensor, before = todo.pop()
        row = flow.last_producer(tensor, before, gradients=True)
        if row is None or row in found or row not in reached:
            continue
        known = [one for one in flow.inputs(row) if flow.has_history(one, row)]
        if flow.does(row, Trait.LINEAR) or (flow.does(row, Trait.SCALING) and len(known) == 1):
            found.add(row)
            todo += [(one, row) for one in known]
    return found


def _case_of(flow: Flow, run: Run, cut: Cut, sums: set[int], leaves: list[int]) -> Case | None:
    """Return the case of one cut, None for one that may be meant."""
    reason = flow.events[cut.row].data.get("reason", "")
    if reason in ("create_graph", "deepcopy"):  # checks of their own explain these
        return None
    if _in_vain(flow, cut):
        return _path_case(flow, run, cut, leaves)
    if cut.taker in sums and _adds(flow, cut.taker):
        subtracted = flow.does(cut.taker, Trait.DIFFERENCE)
        taken_away = subtracted and any(cut.given in flow.inputs(row) for row in sums)
        if taken_away or _depends(flow, cut) or _swaps_the_value(flow, cut):
            return None
        if subtracted and _is_taken_from_its_like(flow, cut):
            return None
        severity: Severity = "note" if reason in _DELIBERATE and not cut.came_back else "warning"
        return _term_case(flow, run, cut, "error" if cut.came_back else severity)
    served = serves_nobody(flow, run, cut, sums, leaves)
    if served:
        return _vain_case(flow, cut, _path_case(flow, run, cut, leaves, served=served))
    if not _is_on_a_path(flow, run, cut, leaves):
        return None
    if cut.came_back:
        return _path_case(flow, run, cut, leaves)
    drawn = next((row for row in _draws(flow, cut) if cause_of(flow, row).own), None)  # as ``sample()`` does
    if drawn is not None and not _depends(flow, cut) and not _is_scored(flow, run, drawn, leaves):
        return replace(_path_case(flow, run, cut._replace(row=drawn), leaves), severity="warning")
    adds = _adds(flow, cut.taker) and not flow.does(cut.taker, Trait.DIFFERENCE)
    if (
        adds
        and not reason.startswith(NO_DERIVATIVE)
        and not _depends(flow, cut, either=counts_by_size(flow, cut.taker))
        and not _is_taken_from_its_like(flow, cut)
    ):
        return replace(_path_case(flow, run, cut, leaves), severity="note")
    computed = reason == "no_grad" and not adds and not cause_of(flow, cut.row).own
    computed = computed and flow.has_history(cut.given, cut.row)
    if computed and not _depends(flow, cut) and not _is_taken_from_its_like(flow, cut):
        return replace(_path_case(flow, run, cut, leaves), severity="note")
    return None


def _in_vain(flow: Flow, cut: Cut) -> bool:
    """Whether a cut drops the history of a gradient that was taken with one, and nothing else takes it."""
    made = flow.last_producer(cut.given, cut.row, gradients=True)
    if made is None or not flow.is_gradient(made):
        return False
    return not any(flow.has_node(row) for out in flow.outputs(made) for row in flow.used_in.get(out, ()))


def _replaced_terms(flow: Flow, run: Run, sums: set[int], since: int, wanted: set[int]) -> Iterator[Cut]:
    """Yield the terms of a loss that were computed from plain values of the step, which had left the graph before."""
    for row in sorted(row for row in sums if row > since and _adds(flow, row)):
        for term in flow.inputs(row):
            constant = not flow.has_history(term, row) and not flow.requires_grad(term, row)
            left = term_cut(flow, term, row, since, wanted) if constant else None
            if left is not None:
                yield Cut(row, term, left, flow.inputs(left)[0], came_back=True)
        if any(type(number) is float and is_computed(number) for number in flow.numbers(row)):
            left = _number_left(flow, row, since, wanted - flow.got_gradient)
            if left is not None:
                yield Cut(row, None, left, flow.inputs(left)[0], came_back=True)


def _number_left(flow: Flow, before: int, since: int, leaves: set[int]) -> int | None:
    """Return the last call of a step that made a plain number from what depends on leaves without gradient."""
    for row in reversed(flow.rows.get("cut", ())):
        if row <= since:
            return None
        reads = row < before and flow.does(row, Trait.READING) and not flow.events[row].data.get("outputs")
        if reads and not leaves.isdisjoint(flow.leaves_behind(flow.behind(flow.inputs(row), row))):
            return row
    return None


def _adds(flow: Flow, row: int) -> bool:
    """Whether a call adds its operands up, at once or joined first."""
    if not flow.does(row, Trait.JOINING):
        sums = flow.does(row, Trait.REDUCTION) and flow.does(row, Trait.LINEAR)
        return sums or (flow.does(row, Trait.ADDITION) and flow.does(row, Trait.ELEMENTWISE))
    used = (call for out in flow.outputs(row) for call in flow.used_in.get(out, ()))
    return any(flow.does(call, Trait.REDUCTION) for call in used)


def _against(flow: Flow, cut: Cut, leaves: set[int], constants: Constants) -> str:
    """Return evidence that a constant is intended, "" if there is none."""
    if _scores_a_draw(flow, cut, leaves):
        return "what is cut off was sampled, and is combined with its own probability"
    if _never_changes(flow, cut, constants):
        return "what has no derivative there gave the same in every step, as a check of a range does"
    return ""


def _scores_a_draw(flow: Flow, cut: Cut, leaves: set[int]) -> bool:
    """Whether a constant was sampled and is combined with its leaves' result: the probability of the sample."""
    if not _draws(flow, cut):
        return False
    return not leaves.isdisjoint(flow.leaves_behind(flow.behind(_beside(flow, cut), cut.taker)))


def _draws(flow: Flow, cut: Cut) -> list[int]:
    """Return the calls by which a constant was sampled from what was cut off."""
    behind = set() if cut.operand is None else flow.behind([cut.operand], cut.taker, gradients=False).calls
    return sorted(row for row in behind if row >= cut.row and flow.does(row, Trait.RANDOM))


def _is_scored(flow: Flow, run: Run, draw: int, leaves: list[int]) -> bool:
    """Whether a call of the graph combines a sample with the result of its leaves."""
    drawn = flow.descendants(flow.outputs(draw), draw, lambda row: not flow.has_node(row))
    for row in drawn.calls & flow.reached_by(run).calls:
        beside = [one for one in flow.inputs(row) if flow.has_history(one, row)]
        if not flow.leaves_behind(flow.behind(beside, row)).isdisjoint(leaves):
            return True
    return False


def _never_changes(flow: Flow, cut: Cut, constants: Constants) -> bool:
    """Whether an operation without derivative returned the same in every step, like a check of a range."""
    made = None if cut.operand is None else flow.last_producer(cut.operand, cut.taker)
    if made is None or cut.operand is None or flow.events[cut.row].data.get("reason") not in NO_DERIVATIVE:
        return False
    place = flow.outputs(made).index(cut.operand)
    rows = constants.in_each_step(flow.made_at(flow.events[made].source, flow.events[made].op), made)
    figures = [limits_and_sum(flow, flow.outputs(row)[place], row + 1) for row in rows]
    return len(rows) > 1 and figures[0] != (None, None) and all(one == figures[0] for one in figures)


def _depends(flow: Flow, cut: Cut, *, either: bool = False) -> bool:
    """Whether a constant is computed from what it is added to: it replaces a value and keeps the gradient.

    ``either``: or that of what the constant was made of, as in the residual of an equation.
    """
    beside = _beside(flow, cut)
    behind = set() if cut.operand is None else flow.behind([cut.operand], cut.taker, gradients=False).tensors
    return not behind.isdisjoint(beside) or (either and cut.given in flow.behind(beside, cut.taker).tensors)


def _swaps_the_value(flow: Flow, cut: Cut) -> bool:
    """Whether a constant cancels the value of what has a gradient, or then replaces it.

    As in ``shown + (trained - trained.item())``, which has the value of one and the gradient of the other.
    """
    made = [flow.last_producer(one, cut.taker, gradients=True) for one in _beside(flow, cut)]
    differences = [row for row in (cut.taker, *made) if row is not None and flow.does(row, Trait.DIFFERENCE)]
    ends = [limits_of(flow, out, row + 1) for row in differences for out in flow.outputs(row)]
    return any(one is not None and list(one) == [0.0, 0.0] for one in ends)


def _beside(flow: Flow, cut: Cut) -> list[int]:
    """Return the operands with a history that a constant meets."""
    return [one for one in flow.inputs(cut.taker) if one != cut.operand and flow.has_history(one, cut.taker)]


def _is_taken_from_its_like(flow: Flow, cut: Cut) -> bool:
    """Whether a constant is combined with a value computed in the same way, from the same leaves, in another pass."""
    beside = _beside(flow, cut)
    mine = flow.behind(beside, cut.taker)
    theirs = flow.behind([cut.given if cut.operand is None else cut.operand], cut.taker, gradients=False)
    leaves = {flow.leaf_itself(leaf) for leaf in flow.leaves_behind(theirs)}
    if not leaves or not leaves <= flow.leaves_behind(mine):
        return False
    return mine.calls.isdisjoint(theirs.calls) and alike(flow, mine, theirs, leaves)


def _is_on_a_path(flow: Flow, run: Run, cut: Cut, leaves: list[int]) -> bool:
    """Whether values that came back are used as before, and the pass is meant to train what is behind them.

    A number that scales, an index and a target, which is compared, are constants as they are meant to be.
    """
    operand = cut.operand
    if operand is None or prod(flow.facts(operand).shape) == 1 or not flow.facts(operand).floating:
        return False
    if flow.does(cut.taker, Trait.LOSS, Trait.DISTANCE, Trait.DIFFERENCE, Trait.COMPARISON, Trait.DIVISION):
        return False
    if flow.trainable([operand]) and (flow.is_leaf(cut.given) or _is_asked_for(flow, operand)):
        return False  # a leaf that was made of a leaf is a copy of it: see ``optimizers``
    served = flow.arrival_rows(run).keys() | set(run.inputs)
    return not flow.got_gradient.issuperset(leaves) or not served.isdisjoint(leaves)


def _is_asked_for(flow: Flow, leaf: int) -> bool:
    """Whether a program reads the gradient of a leaf, or may: code that splits a graph in two continues with it."""
    asked = any(leaf in run.inputs or leaf in run.roots for run in flow.runs) or not flow.optimizer_steps
    hooked = any(event.data.get("tensor") == leaf for _, event in flow.of_kind("hook", action="registered"))
    return asked or hooked or leaf in flow.optimized or leaf in flow.reads_of


def _served_elsewhere(flow: Flow, run: Run, leaves: set[int]) -> bool:
    """Whether runs from another line reach some of these leaves."""
    others = {other.source: other for other in flow.runs if other.source != run.source and not other.error}
    return any(not leaves.isdisjoint(flow.reached_by(other).tensors) for other in others.values())


def _path_case(
    flow: Flow, run: Run, cut: Cut, leaves: list[int], *, penalty: bool = False, served: Sequence[int] = ()
) -> Case:
    """Return the case of values that are used, and whose gradient path is cut.

    ``penalty``: all that is left is one; ``served``: what alone gets a gradient that way, which no step uses.
    """
    event, cause, root = flow.events[cut.row], cause_of(flow, cut.row), flow.root_name(run)
    reason, taker = event.data.get("reason") or "copy", flow.events[cut.taker]
    names = named(flow, leaves)
    taken = flow.spelling.spelled(cut.operand, cut.taker) if cut.operand is not None else ""
    goes_on, constant = f"{taken or 'its result'} goes on{at(taker.source)}", root
    if reason == "no_grad" and not penalty:  # the loss has a history, by other ways
        constant = taken or "its result"
    lacks = f"the gradient of {names} lacks all that flows along this path"
    if penalty:
        lacks = f"{names} get{'s' if len(leaves) == 1 else ''} no gradient but that of a penalty on nothing else"
    if served:
        alone = named(flow, served)
        lacks += f", and all that its term gives {alone} is cleared before a step uses it"
    return Case(
        kind="nondifferentiable" if reason in NO_DERIVATIVE else "broken-chain",
        message=f"{what_cut(flow, cut.row, cause, constant, reason)}; {goes_on}, so {lacks}.",
        remedy=remedy_of(flow, cut.row, reason, cause),
        source=cause.line,
        op=event.op,
        marks=flow.marks(run, [cut.taker], ghost=f"cut by {event.op}"),
        evidence={"leaves": [flow.name(leaf) for leaf in leaves], "reason": reason},
    )


def _vain_case(flow: Flow, cut: Cut, case: Case) -> Case:
    """Return the case of a term that trains nothing, at the line that uses a constant which is right elsewhere."""
    taker = flow.events[cut.taker]
    if cut.operand is None or not _feeds_several(flow, cut.operand):
        return replace(case, severity="warning")
    given, taken = flow.name(cut.given, taker.source), flow.name(cut.operand, taker.source)
    remedy = f"compute this term with {given}, and keep {taken} for what must not reach {given}"
    return replace(case, severity="warning", source=taker.source, remedy=remedy)


def _feeds_several(flow: Flow, constant: int) -> bool:
    """Whether the graphs of several runs take a constant."""
    runs = (flow.run_after(row) for row in flow.used_in.get(constant, ()) if flow.has_node(row))
    return len({run.begin for run in runs if run is not None}) >= HABIT


def _term_case(flow: Flow, run: Run, cut: Cut, severity: Severity) -> Case:
    """Return the case of a term that changes the value of a loss and no gradient."""
    event, cause, root = flow.events[cut.row], cause_of(flow, cut.row), flow.root_name(run)
    reason, taker = event.data.get("reason") or "copy", flow.events[cut.taker]
    name = ("" if cut.operand is None else flow.written_names(cut.taker).get(cut.operand)) or "a term"
    how = what_cut(flow, cut.row, cause, root, reason)
    starved = set[int]()
    if cut.came_back:
        several = len(flow.inputs(cut.row)) > 1
        taken = counted(len(flow.inputs(cut.row)), "tensor") if several else flow.name(cut.given, cause.line)
        how = (
            f"{taken} left the graph through {leaving_words(flow, cut.row)}{at(cause.line)}, and only the values came "
        )
        how += "back"
        starved = flow.leaves_behind(flow.behind([cut.given], cut.row)) - flow.got_gradient
    if starved:
        verb = "gets" if len(starved) == 1 else "get"
        how += f"; {named(flow, sorted(starved))} {verb} no gradient at all"
    return Case(
        kind="nondifferentiable" if reason in NO_DERIVATIVE else "broken-chain",
        message=f"{name} is a constant where {root} takes it{at(taker.source)}, so no gradient takes that path: {how}.",
        remedy=remedy_of(flow, cut.row, reason, cause),
        source=cause.line,
        op=event.op,
        severity=severity,
        subjects=frozenset(starved),
        marks=flow.marks(run, [cut.taker], ghost=f"cut by {event.op}"),
        evidence={"term": name, "reason": reason},
    )
