"""The roles of both sides of a comparison: results and data, outputs of one network, the teacher of another one."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from ...operators import Trait
from ...recording.memory_parts import contiguous
from ..facts.flow import Flow
from ..facts.row_table import Reached
from ..facts.runs import Run
from ..queries.distance import is_comparison, is_regression

_CLEARED = ("grad-cleared", "grad-zeroed")
_ELSE = 1
"""Bit of what a part of a graph was not computed from."""


def steps_of(flow: Flow) -> Iterator[tuple[list[Run], set[int]]]:
    """Yield the runs whose gradients come together before the next update, and the calls that they reached."""
    ends = [row for row, event in flow.of_kind("optimizer") if event.data.get("action") in ("step", "zero_grad")]
    ends += [row for row, event in flow.of_kind("leaf") if event.data.get("change") in _CLEARED]
    ends.sort()
    together: dict[int, list[Run]] = defaultdict(list)
    for run in flow.runs:
        if run.accumulates and not run.error:
            together[bisect_left(ends, run.begin)].append(run)
    for runs in together.values():
        yield runs, set().union(*(flow.reached_by(run).calls for run in runs))


def trained_otherwise(flow: Flow, theirs: Reached, row: int, calls: set[int]) -> bool:
    """Whether another loss of the step, of labels for example, trains what a target is computed from."""
    for made in theirs.calls:
        for out in flow.outputs(made):
            users = calls.intersection(flow.used_in.get(out, ())) - theirs.calls
            if any(_is_elsewhere(flow, call, row) for call in users):
                return True
    return _twin_is_held(flow, theirs, row, calls)


def _is_elsewhere(flow: Flow, call: int, row: int) -> bool:
    this, other = flow.events[row], flow.events[call]
    return (other.source, other.op) != (this.source, this.op)


def _twin_is_held(flow: Flow, theirs: Reached, row: int, calls: set[int]) -> bool:
    """Whether another call compares data with what was computed again from the same leaves and inputs."""
    bits = {given: 2 << place for place, given in enumerate(sorted(given_to(flow, theirs)))}
    whole = sum(bits.values())
    made_of: dict[int, int] = {}
    for call in sorted(calls - theirs.calls):
        taken = {given: made_of.get(given, bits.get(given, _ELSE)) for given in flow.inputs(call)}
        twin = any(of == whole and given in made_of for given, of in taken.items())
        if twin and _is_elsewhere(flow, call, row) and any(_is_data(flow, one, call) for one in taken.keys() - bits):
            return True
        together = 0
        for of in taken.values():
            together |= of
        made_of.update(dict.fromkeys(flow.outputs(call), together))
    return False


def given_to(flow: Flow, part: Reached) -> set[int]:
    """Return the inputs of a part of a graph that it did not compute."""
    made = {out for call in part.calls for out in flow.outputs(call)}
    return {given for call in part.calls for given in flow.inputs(call)} - made


def _is_data(flow: Flow, tensor: int, row: int) -> bool:
    return not flow.has_history(tensor, row) and not flow.requires_grad(tensor, row)


def compared_with_data(flow: Flow, result: int, calls: set[int]) -> bool:
    """Whether a loss among calls measures how far a result, arranged at most, is from data."""
    return comes_to(flow, result, calls, (Trait.ARRANGING,), _measures_distance)


def comes_to(
    flow: Flow, result: int, calls: set[int], through: Iterable[Trait], wanted: Callable[[Flow, int], bool]
) -> bool:
    """Whether a result reaches a wanted call, among calls, through operators with only these traits."""
    first, end = min(calls), max(calls) + 1
    todo, seen = [result], {result}
    while todo:
        users = flow.used_in.get(todo.pop(), [])
        for call in calls.intersection(users[bisect_left(users, first) : bisect_left(users, end)]):
            if wanted(flow, call):
                return True
            if flow.does(call, *through):
                fresh = [out for out in flow.outputs(call) if out not in seen]
                seen.update(fresh)
                todo += fresh
    return False


def _measures_distance(flow: Flow, row: int) -> bool:
    """Whether a call compares by size, and with data."""
    operands = flow.inputs(row)[:2] if is_comparison(flow, row) else ()
    return len(operands) == 2 and any(_is_data(flow, given, row) for given in operands)


_ADDING_UP = (Trait.LINEAR, Trait.SCALING)
"""Traits of operators that combine the parts of a loss into one number."""
_MEASURING = (*_ADDING_UP, Trait.POWER, Trait.EVEN)
"""The same of distances, whose sign stays."""


def place_of(flow: Flow, call: int) -> tuple[object, str]:
    """Return the position of a call: its module, or else its line."""
    event = flow.events[call]
    return event.data.get("scope") or event.source, event.op


def alike(flow: Flow, mine: Reached, theirs: Reached, leaves: set[int]) -> bool:
    """Whether two parts of a graph use leaves in the same way: in the same positions, or by the same operators."""
    places = [{place_of(flow, call) for call in part.calls} for part in (mine, theirs)]
    return bool(places[0] & places[1]) or _uses(flow, mine, leaves) == _uses(flow, theirs, leaves)


def _uses(flow: Flow, part: Reached, leaves: set[int]) -> set[tuple[str, frozenset[int]]]:
    """Return the operators that use leaves in a part of a graph."""
    taken = ((flow.events[call].op, leaves.intersection(flow.inputs(call))) for call in part.calls)
    return {(op, frozenset(used)) for op, used in taken if used}


def takes_itself_as_target(flow: Flow, target: int, prediction: int, row: int, calls: set[int]) -> bool:
    """Whether the target probabilities of a loss are the same network's own, for another input.

    A divergence taken both ways, in the step that ``calls`` are of, draws the two together on purpose.
    """
    if not is_soft_target(flow, target, prediction, row):
        return False
    mine, theirs = flow.behind([prediction], row), flow.behind([target], row)
    leaves = flow.leaves_behind(mine)
    own = flow.leaves_behind(theirs)  # all but those of a predictor, if there is one
    if not own or not own <= leaves or mine.calls & theirs.calls:
        return False
    if trained_otherwise(flow, theirs, row, calls) and not _is_sharpened(flow, target, prediction, row):
        return False
    return alike(flow, mine, theirs, leaves) and not also_exchanged(flow, mine, theirs, calls)


def _is_sharpened(flow: Flow, target: int, prediction: int, row: int) -> bool:
    """Whether only a target is made of scaled scores, which shows which of the two is to follow the other."""
    scaled = [made_by(flow, given, row, Trait.SCALING) for given in scores_of(flow, (target, prediction), row)]
    return scaled == [True, False]


def scores_of(flow: Flow, probabilities: tuple[int, ...], row: int) -> list[int]:
    """Return the operand of a softmax."""
    made = [flow.last_producer(one, row, gradients=True) for one in probabilities]
    return [flow.inputs(one)[0] for one in made if one is not None and flow.inputs(one)]


def is_soft_target(flow: Flow, target: int, prediction: int, row: int) -> bool:
    """Whether a call is a loss with this target: probabilities besides logarithms, or else its second operand."""
    soft = takes_probabilities(flow, row)
    beside = _are_chances(flow, target, row, logarithms=False) and _are_chances(flow, prediction, row, logarithms=True)
    turned = _are_chances(flow, target, row, logarithms=True) and _are_chances(flow, prediction, row, logarithms=False)
    if beside or turned or not soft:
        return beside and (soft or flow.does(row, Trait.PRODUCT))
    return flow.inputs(row)[1] == target


def takes_probabilities(flow: Flow, row: int) -> bool:
    """Whether a call is a loss whose second operand is its target, and no index: probabilities."""
    operands = flow.inputs(row)
    if not (flow.does(row, Trait.LOSS) and flow.does(row, Trait.LOGARITHMIC)) or len(operands) < 2:
        return False
    return flow.facts(operands[1]).floating


def _are_chances(flow: Flow, tensor: int, row: int, *, logarithms: bool) -> bool:
    """Whether a tensor was just made probabilities over its entries, or their logarithms."""
    made = flow.last_producer(tensor, row, gradients=True)
    if made is None or not (flow.does(made, Trait.PROBABILITY) and flow.does(made, Trait.NORMALISATION)):
        return False
    return flow.does(made, Trait.LOGARITHMIC) == logarithms


def made_by(flow: Flow, tensor: int, row: int, *traits: Trait) -> bool:
    """Whether an operator with one of these traits last gave a tensor a history before a row."""
    made = flow.last_producer(tensor, row, gradients=True)
    return made is not None and flow.does(made, *traits)


def also_exchanged(flow: Flow, mine: Reached, theirs: Reached, calls: set[int]) -> bool:
    """Whether an equal loss of the same step compares the two in exchanged roles."""
    for call in calls:
        operands = flow.inputs(call)[:2]
        pairs = (operands, operands[::-1]) if len(operands) == 2 else ()
        for prediction, target in pairs:
            if is_soft_target(flow, target, prediction, call):
                sides = [flow.behind([given], call).calls for given in (prediction, target)]
                turned = sides[0] & theirs.calls and sides[1] & mine.calls
                if turned and not sides[0] & mine.calls and not sides[1] & theirs.calls:
                    return True
    return False


def only_draws_together(flow: Flow, target: int, prediction: int, row: int, calls: set[int]) -> bool:
    """Whether a loss is only the distance between a network's output and a predictor's result of another one.

    That both are the same constant is its best value, unless what is predicted counts as a constant itself.
    """
    mine, theirs = flow.behind([prediction], row), flow.behind([target], row)
    shared = flow.leaves_behind(theirs)
    if not shared or not shared < flow.leaves_behind(mine) or mine.calls & theirs.calls:
        return False
    if flow.optimized and shared.isdisjoint(flow.optimized):  # what is not trained does not become a constant
        return False
    likeness = is_likeness(flow, row)
    if not likeness and any(_adds_data(flow, call) for call in mine.calls | theirs.calls):
        return False
    comparing = {call for call in calls if flow.events[call].op == flow.events[row].op and _draws(flow, call, row)}
    made = {out for call in comparing for out in flow.outputs(call)}
    after = flow.descendants(made, min(comparing, default=row), flow.has_node)
    adding = [call for call in after.calls - comparing if flow.has_node(call)]
    plain = all(flow.does(call, *(_ADDING_UP if likeness else _MEASURING)) for call in adding)
    nothing_else = calls <= flow.behind(made, len(flow.events)).calls.union(adding)
    return plain and nothing_else and alike(flow, mine, theirs, shared)


def _draws(flow: Flow, call: int, row: int) -> bool:
    """Whether a call compares like that of an event: by a cosine, or the same two sets of leaves by a distance."""
    if is_likeness(flow, row):
        return is_likeness(flow, call)
    return is_comparison(flow, call) and _sides(flow, call) == _sides(flow, row)


def _sides(flow: Flow, call: int) -> set[frozenset[int]]:
    """Return the leaves behind each operand of a comparison."""
    return {frozenset(flow.leaves_behind(flow.behind([given], call))) for given in flow.inputs(call)[:2]}


def _adds_data(flow: Flow, call: int) -> bool:
    """Whether a call adds data to a result, which then cannot be constant for all inputs."""
    operands = flow.inputs(call) if flow.does(call, Trait.ADDITION, Trait.JOINING) else ()
    histories = [flow.has_history(one, call) for one in operands]
    data = [not known and not flow.requires_grad(one, call) for one, known in zip(operands, histories, strict=True)]
    return any(histories) and any(data)


def is_likeness(flow: Flow, row: int) -> bool:
    """Whether a call returns the cosine of its operands: itself, or as a product of two of length one."""
    if flow.does(row, Trait.LIKENESS):
        return True
    operands = flow.inputs(row)[:2] if flow.does(row, Trait.PRODUCT) else ()
    return len(operands) == 2 and all(_is_unit(flow, one, row) for one in operands)


def _is_unit(flow: Flow, tensor: int, row: int) -> bool:
    """Whether a tensor was divided by its norm."""
    made = flow.last_producer(tensor, row, gradients=True)
    if made is None or flow.does(made, Trait.UNIT):
        return made is not None
    by = flow.inputs(made)[1:] if flow.does(made, Trait.SCALING) else ()
    norms = (flow.last_producer(one, made, gradients=True) for one in by)
    return any(one is not None and flow.does(one, Trait.EVEN) and flow.does(one, Trait.REDUCTION) for one in norms)


def are_neighbours(flow: Flow, value: int, prediction: int, row: int, calls: set[int]) -> bool:
    """Whether both are entries of one result that another loss of the step, among ``calls``, holds to data.

    Comparing them then says how neighbours go together, as a prior or the residual of an equation does.
    """
    one, other = _entries(flow, value, row), _entries(flow, prediction, row)
    return one is not None and other is not None and one[0] == other[0] and compared_with_data(flow, one[0], calls)


def comes_next(flow: Flow, value: int, prediction: int, row: int) -> bool:
    """Whether a value holds the entries of one result that follow those of a prediction, as those of the next state."""
    later, earlier = _entries(flow, value, row), _entries(flow, prediction, row)
    if later is None or earlier is None or later[0] != earlier[0]:
        return False
    whole, one, other = (flow.facts(tensor) for tensor in (later[0], later[1], earlier[1]))
    if one.layout is None or other.layout is None or one.shape != other.shape or one.layout[1:] != other.layout[1:]:
        return False
    shift = one.layout[0] - other.layout[0]
    if len(one.shape) == len(whole.shape) - 1:  # one index of a dimension each
        strides = (whole.layout or (0, *contiguous(whole.shape)))[1:]
        kept = [place for place in range(len(strides)) if (*strides[:place], *strides[place + 1 :]) == one.layout[1:]]
        return shift > 0 and shift in [strides[place] for place in kept]
    if len(one.shape) != len(whole.shape):
        return False
    left_out = [full - size for full, size in zip(whole.shape, one.shape, strict=True)]
    shifted = sum(count * stride for count, stride in zip(left_out, one.layout[1:], strict=True))
    return sum(map(bool, left_out)) == 1 and shift == shifted > 0


def _entries(flow: Flow, tensor: int, row: int) -> tuple[int, int] | None:
    """Return the source of selected entries, and the tensor that contains them; None if not selected."""
    before = row
    while True:
        made = flow.last_producer(tensor, before, gradients=True)
        if made is None or not flow.does(made, Trait.ARRANGING) or not flow.inputs(made):
            return None
        if flow.does(made, Trait.PART):
            return flow.inputs(made)[0], tensor
        tensor, before = flow.inputs(made)[0], made


_TOWARDS_LABELS = (Trait.ARRANGING, Trait.SCALING, Trait.PROBABILITY, Trait.LOGARITHMIC)
"""Calls between the scores of a classifier and the loss that holds them to labels."""


def teaches_its_reader(flow: Flow, target: int, prediction: int, row: int, calls: set[int]) -> bool:
    """Whether a prediction is computed from detached values of the network that computes the target, and that data
    train.

    Who detaches what a head reads does not want it to move the rest; by a target with a history it does all the same.
    Both learn then, and the target follows its pupil.  A target that no data hold, as a posterior, may be drawn to it.
    """
    soft = is_soft_target(flow, target, prediction, row)
    if not soft and not is_comparison(flow, row):
        return False
    mine, theirs = flow.behind([prediction], row), flow.behind([target], row)
    leaves, own = flow.leaves_behind(mine), flow.leaves_behind(theirs)
    if not leaves or not own or not leaves.isdisjoint(own) or not _reads_detached(flow, mine, own, row):
        return False
    if not soft:
        return compared_with_data(flow, target, calls)
    if also_exchanged(flow, mine, theirs, calls):
        return False
    return any(_is_labelled(flow, one, calls) for one in (target, *_scores(flow, target, row)))


def _reads_detached(flow: Flow, mine: Reached, own: set[int], row: int) -> bool:
    """Whether a prediction takes numbers with a fraction that were computed from these leaves and then cut off."""
    read = [one for one in given_to(flow, mine) if not flow.requires_grad(one) and flow.facts(one).floating]
    return any(not own.isdisjoint(flow.leaves_behind(flow.behind([one], row, gradients=False))) for one in read)


def _scores(flow: Flow, target: int, row: int) -> list[int]:
    """Return the operand of a target's softmax, before and after scaling."""
    found, before = scores_of(flow, (target,), row), row
    while found and made_by(flow, found[-1], before, Trait.SCALING):
        made = flow.last_producer(found[-1], before, gradients=True)
        inputs = [] if made is None else [one for one in flow.inputs(made) if flow.has_history(one, made)]
        if made is None or len(inputs) != 1:
            break
        found, before = [*found, inputs[0]], made
    return found


def _is_labelled(flow: Flow, scores: int, calls: set[int]) -> bool:
    """Whether a loss among calls holds scores to labels."""
    return comes_to(flow, scores, calls, _TOWARDS_LABELS, _takes_labels)


def _takes_labels(flow: Flow, call: int) -> bool:
    """Whether a call combines scores with untrained values; indices may be missing from its record."""
    inputs = flow.inputs(call)
    trained = [one for one in inputs if flow.has_history(one, call) or flow.requires_grad(one, call)]
    held = is_regression(flow, call) or flow.does(call, Trait.LOSS, Trait.PRODUCT, Trait.INDEXING)
    return held and len(trained) == 1 and (len(inputs) > 1 or flow.does(call, Trait.CLASSES))
