"""Results that do not depend on inputs, and products whose factors are both zero: nothing is learned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from ....graphs.graph import Graph
from ....operators import Trait, is_a
from ...base import Case
from ...facts.call_inputs import limits_of
from ...facts.flow import Flow
from ...facts.runs import Run
from ...text.words import at, named
from ...thresholds import CANCELLED, NOTHING


def lost_in(flow: Flow, run: Run) -> list[int]:
    """Return the leaves to which a pass gave only negligible gradients."""
    lost = [leaf for leaf, norms in flow.norms_in(run).items() if is_zero(norms)]
    snapshot = None if run.snapshot is None else flow.graph_of(run)
    if snapshot is not None and {"grad_norm", "out_norm"} <= set(snapshot.measures):
        lost += [leaf for leaf in run.inputs if _gave_nothing(flow, run, snapshot, leaf)]
    return lost


class Losses:
    """Where the gradients of a pass were lost: the node below which nothing arrives, and the leaves there."""

    def __init__(self, flow: Flow, run: Run, snapshot: Graph) -> None:
        self._flow = flow
        self._norms = snapshot.measures["grad_norm"]
        self._places = run.places(snapshot)
        self._calls = flow.reached_by(run).calls
        self._after: dict[int, list[int]] = {}
        for source, target, _, _ in snapshot.edges():
            self._after.setdefault(source, []).append(target)

    def at(self, node: int, leaves: list[int]) -> list[int]:
        """Return those of some leaves whose gradient was lost at a node, and not further on."""
        starved, todo = {node}, [node]
        while todo:
            for following in self._after.get(todo.pop(), ()):
                norm = self._norms[following]
                if following not in starved and not (norm and norm > NOTHING):
                    starved.add(following)
                    todo.append(following)
        return [leaf for leaf in leaves if not starved.isdisjoint(self._takers(leaf))]

    def _takers(self, leaf: int) -> list[int]:
        """Return the nodes of the calls that take a leaf."""
        rows = self._calls.intersection(self._flow.used_in.get(leaf, ()))
        return [self._places[node] for row in rows for node in self._flow.nodes(row) if node in self._places]


def is_zero(norms: list[float | None], given: float = 0.0) -> bool:
    """Whether the gradient that a leaf got in a pass is negligible.

    ``given``: the largest norm that passes for rounding errors.
    """
    return all(norm is not None and norm < max(NOTHING, given) for norm in norms)


def _gave_nothing(flow: Flow, run: Run, snapshot: Graph, leaf: int) -> bool:
    """Whether ``autograd.grad`` got nothing but zeros for a leaf that the program itself updates afterwards."""
    if not flow.written_after(leaf, run.end) or not flow.trainable([leaf]):
        return False
    places, calls = run.places(snapshot), flow.reached_by(run).calls.intersection(flow.used_in.get(leaf, ()))
    nodes = [places[node] for row in calls for node in flow.nodes(row) if node in places]
    return bool(nodes) and all(_gave_zero(snapshot, node) for node in nodes)


def _gave_zero(snapshot: Graph, node: int) -> bool:
    """Whether a node passed nothing on, or received nothing: gradients for ``autograd.grad`` are not measured."""
    norms = (snapshot.measures[key][node] for key in ("grad_norm", "out_norm"))
    return any(norm is not None and norm < NOTHING for norm in norms)


_SIGMOID = "torch.sigmoid for a single output, or the dimension that holds the alternatives"
_ONE_CLASS = (
    "torch.nn.functional.binary_cross_entropy_with_logits for a single output, or one output for each of the classes"
)
_TOGETHER = "normalise over the dimension that holds the entries to compare, or leave it out"


@dataclass(frozen=True, slots=True)
class _Constant:
    """A call whose result cannot depend on its inputs, or on one of them."""

    why: str
    """Why that is so, after the name of the operator."""
    remedy: str


def constant_results(flow: Flow, run: Run, snapshot: Graph) -> Iterator[Case]:
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
            message=f"{event.op}{at(event.source)} {constant.why}: {named(flow, leaves)} "
            f"get{'s' if len(leaves) == 1 else ''} a gradient of zero.",
            remedy=constant.remedy,
            source=event.source,
            op=event.op,
            subjects=frozenset(leaves),
            marks=flow.marks(run, [row], "constant"),
            evidence={"result": event.data.get("range", [None])[0]},
        )


def _constant(flow: Flow, row: int) -> _Constant | None:
    """Return the result of a call if that cannot depend on its inputs."""
    return _one_entry(flow, row) or _against_itself(flow, row) or _taken_away_again(flow, row)


def _always(flow: Flow, row: int) -> bool:
    """Whether all calls from a line are constant, as far as their results are known."""
    event = flow.events[row]
    alike = (call for call in flow.made_at(event.source, event.op) if flow.events[call].data.get("range", [None])[0])
    return all(_constant(flow, call) is not None for call in alike)


def _untaught(flow: Flow, run: Run, snapshot: Graph, row: int) -> list[int]:
    """Return the leaves behind a call to which no pass gives more than rounding errors."""
    places = run.places(snapshot)
    given = [snapshot.measures["grad_norm"][places[node]] or 0.0 for node in flow.nodes(row) if node in places]
    noise = CANCELLED * max(given, default=0.0)
    behind = flow.leaves_behind(flow.behind(flow.inputs(row), row)) if noise else set()
    return sorted(leaf for leaf in behind if _is_untaught(flow, leaf, noise))


def _is_untaught(flow: Flow, leaf: int, noise: float) -> bool:
    """Whether no run gave a leaf a gradient above the noise, and at least one gave it some."""
    arrived, asked = flow.norms_of.get(leaf, ()), flow.runs_asking.get(leaf, ())
    nothing = all(is_zero(norms, noise) for norms in arrived) and all(leaf in lost_in(flow, run) for run in asked)
    return nothing and bool(arrived or asked)


# -- a single entry, normalised


def _one_entry(flow: Flow, row: int) -> _Constant | None:
    """Return the result of a call that normalises over a single entry; None for others."""
    event = flow.events[row]
    op, name = event.op, _first_name(flow, row)
    if flow.does(row, Trait.PROBABILITY) and flow.does(row, Trait.NORMALISATION):
        value, remedy = (0.0, _ONE_CLASS) if flow.does(row, Trait.LOGARITHMIC) else (1.0, _SIGMOID)
        if event.data.get("range", [None])[0] != [value, value]:  # of several entries none has the whole
            return None
        return _Constant(f"runs over a dimension of size 1, so its result is {value:g} whatever {name} is", remedy)
    if flow.does(row, Trait.LOSS) and flow.does(row, Trait.NORMALISATION) and _classes(flow, row) == 1:
        return _Constant(f"is given a single class, so it is 0 whatever {name} is", _ONE_CLASS)
    if op in _ENTRIES and _ENTRIES[op](flow, row) == 1:
        return _Constant(f"normalises each entry by itself, so its result is the same whatever {name} is", _TOGETHER)
    return None


def _first_name(flow: Flow, row: int) -> str:
    """Return the text of a call's first input."""
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
    """Return the constant difference or quotient of a value and of what was computed from it."""
    event = flow.events[row]
    value = {"sub": 0.0, "div": 1.0}.get(event.op)
    given, made = event.data.get("inputs", []), event.data.get("outputs", [])
    if value is None or event.data.get("range", [None])[0] != [value, value] or len(given) != 2 or len(made) != 1:
        return None
    shapes = {tuple(flow.facts(one).shape) for one in (*given, made[0])}
    if len(shapes) > 1 or prod(shapes.pop()) < 2:
        return None
    if not _made_of_the_other(flow, row, *given):
        return _computed_twice(flow, row, value) if _from_the_same(flow, row, *given) else None
    verb = "takes from" if value == 0 else "divides"
    name = _first_name(flow, row)
    same = f"{verb} {name} what is the same in every entry" if value == 0 else f"{verb} {name} by itself in every entry"
    return _Constant(f"{same}, so its result is {value:g} whatever {name} is", _OTHER)


def _taken_away_again(flow: Flow, row: int) -> _Constant | None:
    """Return the gradient, none, of a value that is added and then subtracted, whatever else is in the sum."""
    given = flow.events[row].data.get("inputs", [])
    if len(given) != 2 or not flow.does(row, Trait.DIFFERENCE) or not flow.has_history(given[1], row):
        return None
    tensor, before = given[0], row
    while (made := flow.last_producer(tensor, before, gradients=True)) is not None:
        terms = flow.events[made].data.get("inputs", [])
        if not (flow.does(made, Trait.ADDITION) and flow.does(made, Trait.LINEAR)) or flow.numbers(made):
            return None
        if given[1] in terms[: 1 if flow.does(made, Trait.DIFFERENCE) else 2]:
            name, added = flow.operand_name(given[1], row), flow.events[made]
            why = f"takes {name} away again, which {added.op}{at(added.source)} adds: the gradients of the two cancel"
            return _Constant(why, f"detach() what is to change the value alone: {name} + (... - {name}).detach()")
        tensor, before = (terms or [given[1]])[0], made
    return None


_OTHER = "reduce over the dimension that holds several entries (a sum or mean over one entry is that entry)"


def _made_of_the_other(flow: Flow, row: int, one: int, other: int) -> bool:
    """Whether one of two tensors was computed from the other, so that gradients through both cancel."""
    return any(a in flow.behind([b], row).tensors for a, b in ((one, other), (other, one)))


def _from_the_same(flow: Flow, row: int, one: int, other: int) -> bool:
    """Whether gradients through two tensors reach the same leaves."""
    leaves = flow.leaves_behind(flow.behind([one], row))
    return bool(leaves) and leaves == flow.leaves_behind(flow.behind([other], row))


def _computed_twice(flow: Flow, row: int, value: float) -> _Constant:
    """Return the constant difference or quotient of a value and of the same value computed again."""
    name, verb = _first_name(flow, row), "takes from" if value == 0 else "divides by"
    why = (
        f"{verb} {name} the same, computed a second time: the result is {value:g} in every entry, and gradients cancel"
    )
    return _Constant(why, "keep one of the two from before the update: detach() it, or compute it under no_grad")


_OF_PRODUCTS = "add up logarithms: {given}.log().sum() in place of the product, compared as a logarithm"
_OF_EXPONENTIALS = "compute with the logarithms themselves (torch.logsumexp, log_softmax)"
Explained = tuple[str, str, str]
"""Kind, message and remedy."""


def vanished_value(flow: Flow, row: int, limits: tuple[float, float], they_get: str) -> Explained | None:
    """Return the explanation of a call whose result rounded to zero although no input is zero."""
    event, made = flow.events[row], flow.outputs(row)[:1]
    ends = limits_of(flow, made[0], row + 1) if made else None
    if not flow.does(row, Trait.EXPONENTIAL) or ends is None or list(ends) != [0.0, 0.0]:
        return None
    whole, power = flow.does(row, Trait.REDUCTION, Trait.SCAN), flow.does(row, Trait.POWER)
    if (whole or power) and not (limits[0] > 0 or limits[1] < 0):
        return None
    verb = "multiplies" if whole else "raises to a power" if power else "takes the exponential of"
    remedy = _OF_PRODUCTS if whole else _OF_EXPONENTIALS
    dtype = flow.facts(made[0]).dtype
    message = (
        f"{event.op}{at(event.source)} {verb} numbers from {limits[0]:.4g} to {limits[1]:.4g}, and the result is too "
        f"small for {dtype}: it underflows to zero, and {they_get} a gradient of zero."
    )
    return "underflow", message, remedy.format(given=flow.name(flow.inputs(row)[0], event.source))


def both_zero(flow: Flow, row: int, they_get: str) -> Explained | None:
    """Return the explanation of a product whose trainable factors are both zero: neither gives the other a gradient."""
    event, given = flow.events[row], flow.inputs(row)
    if not is_a(event.op, Trait.CONTRACTION, Trait.SCALING):
        return None
    learning = [one for one in given if flow.has_history(one, row) or flow.requires_grad(one, row)]
    factors = [one for one in learning if len(flow.facts(one).shape) > 1] if len(given) > 2 else learning  # no bias
    if len(factors) < 2 or not all(is_zero_now(flow, one, row) for one in factors[:2]):
        return None
    message = f"both factors of {event.op}{at(event.source)} are zero in every entry, so {they_get} a gradient of zero."
    return "zero-gradient", message, "start one of the two factors with other numbers than zeros; the other may be zero"


def is_zero_now(flow: Flow, tensor: int, row: int) -> bool:
    """Whether a tensor, or its base, has only zeros before an event."""
    of = flow.facts(tensor).view_of
    ends = limits_of(flow, tensor, row) or (None if of is None else limits_of(flow, of, row))
    return ends is not None and list(ends) == [0.0, 0.0]


def switched_off(flow: Flow, stops: tuple[int, list[int]], leaves: list[int], they_get: str) -> Explained | None:
    """Return the explanation of a product with a constant zero, in every pass, that is the only path to these leaves.

    ``stops``: the product, and all calls at which gradients end.  A factor that is zero only for a while is a schedule,
    one that is zero in the first step of a recurrence is where that begins, and a sum of bare parameters times zero is
    there to give all of them a gradient.
    """
    row, stopping = stops
    event = flow.events[row]
    if not _multiplies(flow, row) or not _by_constant_zero(flow, row) or not _computes(flow, row):
        return None
    if not all(_by_zero(flow, other) for other in stopping if _leads_to(flow, other, leaves)):
        return None
    norms = [arrived for leaf in leaves for arrived in flow.norms_of.get(leaf, ())]
    if len(norms) <= len(leaves) or any(norm is None or norm > NOTHING for arrived in norms for norm in arrived):
        return None
    message = f"{event.op}{at(event.source)} multiplies by 0 in every step, so {they_get} a gradient of zero."
    return "zero-gradient", message, "use a factor other than 0, or leave the branch out and freeze what is behind it"


def _leads_to(flow: Flow, row: int, leaves: list[int]) -> bool:
    """Whether a call was computed from one of these leaves."""
    return not flow.behind(flow.inputs(row), row).tensors.isdisjoint(leaves)


def _by_zero(flow: Flow, row: int) -> bool:
    """Whether a call is a product with a factor that is zero, whatever it was made of."""
    ends = [limits_of(flow, one, row) for one in flow.inputs(row)]
    zero = any(one is not None and list(one) == [0.0, 0.0] for one in ends)
    return _multiplies(flow, row) and (zero or _by_constant_zero(flow, row))


def _multiplies(flow: Flow, row: int) -> bool:
    """Whether a call multiplies entry by entry."""
    return flow.does(row, Trait.PRODUCT) and flow.does(row, Trait.ELEMENTWISE)


def _by_constant_zero(flow: Flow, row: int) -> bool:
    """Whether one factor of a product is the number zero, or a tensor of zeros that nothing trains."""
    constant = [one for one in flow.inputs(row) if not flow.has_history(one, row) and not flow.requires_grad(one)]
    zero = [one for one in constant if (ends := limits_of(flow, one, row)) is not None and list(ends) == [0.0, 0.0]]
    return 0 in flow.numbers(row) or not all(_happens_to_be(flow, one, row) for one in zero)


def _happens_to_be(flow: Flow, factor: int, row: int) -> bool:
    """Whether a factor is made of numbers that the program supplies in each step, such as rewards."""
    began = max((run.end for run in flow.runs if run.end < row), default=-1)
    made = flow.behind([factor], row, gradients=False).calls
    put_in = [out for call in made if call > began and flow.does(call, Trait.ENTERING) for out in flow.outputs(call)]
    return any(prod(flow.facts(out).shape) > 1 for out in put_in)


def _computes(flow: Flow, row: int) -> bool:
    """Whether more than sums of parameters is behind a product."""
    behind = flow.behind(flow.inputs(row), row).calls
    return not all(flow.does(call, Trait.LINEAR) for call in behind if flow.has_node(call))
