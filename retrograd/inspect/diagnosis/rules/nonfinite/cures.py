"""Fixes for a call that meets a pole or leaves its domain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import prod
from typing import Any

from ....operators import Operator, Trait, operator, traits_of
from ....program.syntax import parsed_expression
from ...facts.call_inputs import input_names, known_limits, largest_input
from ...facts.finite import Finiteness, state_of
from ...facts.flow import Flow
from ...text.spelling import operand
from ...thresholds import GROWN_BEFORE, MEANT_AS_EPSILON

_OF_SOFTMAX = (
    "take it in one: torch.log_softmax(scores, dim), or F.cross_entropy(scores, target), in place of the logarithm of "
    "a softmax"
)
_OF_SIGMOID = (
    "take it in one: F.logsigmoid(scores), or F.binary_cross_entropy_with_logits(scores, target), in place of the "
    "logarithm of a sigmoid"
)
_OF_PRODUCT = "add logarithms in place of multiplying: log(x).sum()"
_OF_SUM = "torch.logsumexp(x, dim) in place of the logarithm of a sum of exp"
_OF_COUNTERPART = "F.logsigmoid(-scores) in place of log(1 - sigmoid(scores)), or binary_cross_entropy_with_logits"
_OF_PRODUCTS = {Trait.POWER, Trait.REDUCTION, Trait.SCAN}
"""Traits of operators that grow exponentially by multiplication."""
INSIDE = {
    (-1.0, 1.0): "clamp(-1 + 1e-6, 1 - 1e-6)",
    (0.0, 1.0): "clamp(1e-6, 1 - 1e-6)",
    (1.0, math.inf): "clamp(min=1 + 1e-6)",
}
"""Domain -> expression that keeps values inside it."""


@dataclass(frozen=True, slots=True)
class Sick:
    """A call where a bad value arose, with facts about its operand."""

    flow: Flow
    states: Finiteness
    row: int
    masked: bool = False
    """Whether a later call drops the entries that are bad, which is too late for backward."""
    slope: bool = False
    """Forward was finite, and the slope is not."""

    @property
    def op(self) -> str:
        """The program's name for the function."""
        return self.flow.events[self.row].op

    @property
    def operator(self) -> Operator:
        """Its traits, poles and domain."""
        return operator(self.flow.events[self.row].op)

    @property
    def names(self) -> list[str]:
        """The texts of its operands, or letters if the line has none."""
        names = input_names(self.flow, self.row)[:2]
        return [name if parsed_expression(name) is not None else "xy"[place] for place, name in enumerate(names)]

    @property
    def place(self) -> int:
        """The index of the operand with the pole."""
        return min(self.operator.operand, max(len(self.flow.inputs(self.row)) - 1, 0))

    @property
    def name(self) -> str:
        """Its name, as an operand of a call."""
        names = self.names
        return operand(names[min(self.place, len(names) - 1)])

    @property
    def tensor(self) -> int | None:
        """The operand that holds the pole."""
        given = self.flow.inputs(self.row)
        return given[min(self.place, len(given) - 1)] if given else None

    @property
    def maker(self) -> int | None:
        """The call that made this operand; calls that only arrange entries are passed over."""
        tensor, before = self.tensor, self.row
        while tensor is not None:
            row = self.flow.last_producer(tensor, before)
            if row is None or not operator(self.flow.events[row].op).is_a(Trait.ARRANGING) or not self.flow.inputs(row):
                return row
            tensor, before = self.flow.inputs(row)[0], row
        return None

    @property
    def least(self) -> float:
        """The least number that it was given, as far as known."""
        ends = [state_of(limits).least for limits in known_limits(self.flow, self.row)]
        return min(ends, default=math.nan)


def _is_given_truth(flow: Flow, states: Finiteness, row: int) -> bool:
    """Whether what is infinite was made of truth values by the call that the program wrote, and not by itself."""
    named = flow.written_names(row)
    infinite = [one for one, state in states.given.get(row, {}).items() if state.inf and not named.get(one)]
    made = [call for one in infinite if (call := flow.last_producer(one, row)) is not None]
    return any(flow.facts(one).dtype == "bool" for call in made for one in flow.inputs(call))


def cure(sick: Sick) -> str:
    """Return how to avoid a bad value."""
    flow, states, row, op = sick.flow, sick.states, sick.row, sick.op
    made = states.made.get(row)
    if any(state.inf for state in states.given.get(row, {}).values()):
        if _is_given_truth(flow, states, row):
            return (
                f"leave at least one entry in each row of the mask; if it says the opposite of what {op} takes: ~mask"
            )
        return "do not mask a complete row, or mask with a large negative number such as -1e9 in place of -inf"
    if sick.masked:
        return _before(sick)
    if sick.operator.is_a(Trait.LOSS):
        return _of_loss(sick)
    if flow.inputs(row) and not prod(flow.facts(flow.inputs(row)[0]).shape):
        return f"{sick.name} is empty, and {op} of nothing has no value: leave such a batch out"
    if sick.operator.is_a(Trait.SPREAD) and (_of_single_entries(flow, row) or not _varies(flow, row)):
        return f"{op} of a single entry has no value: leave such a batch out, or use unbiased=False"
    narrow = any(flow.facts(one).dtype == "float16" for one in flow.inputs(row))
    if narrow and sick.operator.is_a(Trait.NORMALISATION):
        return (
            f"an eps of 1e-8 or less is 0 in float16, so what is zero throughout is divided by 0: {op} of "
            f"{sick.name}.float(), or an eps of 1e-4"
        )
    grown = largest_input(flow, row)
    if made is not None and made.inf and sick.operator.poles and grown < GROWN_BEFORE:
        return _off_pole(sick)
    grows = sick.operator.is_a(Trait.EXPONENTIAL) and not sick.operator.traits & _OF_PRODUCTS
    if made is not None and made.inf and grows:
        return f"subtract the maximum before {op}, or use logsumexp / log_softmax: stay among logarithms"
    if made is not None and made.inf and not (sick.operator.poles and grown < GROWN_BEFORE):
        return _smaller(flow, row, op, sick.name)
    if sick.operator.poles or sick.operator.domain != (-math.inf, math.inf):
        return _off_pole(sick)
    return f"check the inputs of {op} for values outside its domain"


def _before(sick: Sick) -> str:
    """Return how to mask a call's argument instead of its result."""
    low, _ = sick.operator.domain
    neutral = 1.0 if 1.0 not in sick.operator.poles else 0.5 if low == 0.0 else 0.0 if low < 0.0 else 2.0
    name = sick.names[min(sick.place, len(sick.names) - 1)]
    return (
        f"mask before {sick.op}, not after it: make the input safe, safe = torch.where(mask, {name}, {neutral:g}), "
        f"then {sick.op} of safe, and mask the result as now"
    )


def _of_loss(sick: Sick) -> str:
    """Return the fix for an undefined loss."""
    made = sick.states.made.get(sick.row)
    if sick.operator.is_a(Trait.ALIGNING):
        return (
            "leave out targets that are longer than their inputs (input_lengths must be at least target_lengths, and "
            "one more for each letter that repeats), or zero_infinity=True"
        )
    if made is not None and made.nan and sick.operator.is_a(Trait.LOGARITHMIC):
        return f"{sick.op} has no target to count, all are ignore_index or of weight zero: leave such a batch out"
    if sick.operator.is_a(Trait.DIVERGENCE):
        return (
            "give log-probabilities: F.log_softmax(scores, dim) as input, and log_target=True for those of the target"
        )
    return f"check what {sick.op} is given: {sick.name} is outside its domain"


def _off_pole(sick: Sick) -> str:
    """Return how to keep the operand away from the pole, or a function without a pole there."""
    op, name = sick.op, sick.name
    bound = _small_bound(sick)
    if bound is not None:
        return (
            f"the {bound:g} that is to keep {name} off the pole is too small or comes too late: in place of another "
            f"epsilon on top, {name}.clamp(min=...) with a number that {_dtype(sick)} can distinguish from 0"
        )
    if sick.operator.domain in INSIDE:
        return f"keep {name} inside: {op}({name}.{INSIDE[sick.operator.domain]}){_of_angle(sick)}"
    if sick.operator.is_a(Trait.LOGARITHMIC):
        return _of_logarithm(sick)
    if sick.operator.is_a(Trait.POWER) and sick.least < 0:
        return (
            f"{name} is negative, where such a power has no value: {name}.clamp(min=1e-6) or {name}.abs() before {op}"
        )
    if sick.operator.is_a(Trait.DIVISION):
        other = f"torch.where({name} == 0, 1, {name})"
        return f"keep the divisor away from zero: divide by {name}.clamp(min=1e-6), or by {other}"
    if sick.operator.is_a(Trait.REDUCTION):
        return "keep the norm away from zero: (x.square().sum(dim) + 1e-12).sqrt(), with the epsilon inside the root"
    if sick.slope:
        return f"keep {name} away from zero, inside the call: {op}({name} + 1e-12), or {op}({name}.clamp(min=1e-12))"
    return f"keep {name} away from zero: {op}({name}.clamp(min=1e-6)), or add a small epsilon to it, inside the call"


def _of_angle(sick: Sick) -> str:
    """Return a function for an angle without a pole, if forward is defined at the end of the domain."""
    if not sick.slope or sick.operator.domain != (-1.0, 1.0):
        return ""
    return "; or, for an angle, torch.atan2(sine, cosine) of the norm of the cross product and the dot product"


def _of_logarithm(sick: Sick) -> str:
    """Return how to take a logarithm that has a value."""
    op, name, maker = sick.op, sick.name, sick.maker
    in_one = "" if maker is None else _in_one(sick.flow, maker)
    if in_one:
        return in_one
    if _times_itself(sick):
        return (
            f"torch.xlogy({name}, {name}), where 0 * log(0) is 0, or F.kl_div(log_q, {name}); with log-probabilities "
            "as target, log_target=True"
        )
    if sick.least < 0:
        return f"{name} is negative, where {op} has no value: {name}.clamp(min=1e-6), or make it positive (F.softplus)"
    return f"keep {name} away from zero: {op}({name}.clamp(min=1e-6)), or add a small epsilon to it"


def _in_one(flow: Flow, maker: int) -> str:
    """Return a function that combines a call and the logarithm of its result, if there is one; else nothing."""
    traits, before = traits_of(flow.events[maker].op), _traits_of_maker(flow, maker)
    if Trait.PROBABILITY in traits:
        return _OF_SOFTMAX if Trait.NORMALISATION in traits else _OF_SIGMOID
    if {Trait.EXPONENTIAL, Trait.REDUCTION} <= traits:
        return _OF_PRODUCT
    if {Trait.LINEAR, Trait.REDUCTION} <= traits and {Trait.EXPONENTIAL, Trait.ELEMENTWISE} <= before - {Trait.POWER}:
        return _OF_SUM
    counterpart = Trait.DIFFERENCE in traits and Trait.PROBABILITY in before and Trait.NORMALISATION not in before
    return _OF_COUNTERPART if counterpart else ""


def _traits_of_maker(flow: Flow, row: int) -> frozenset[Trait]:
    """Return the traits of the operator that made the first operand of a call."""
    given = flow.inputs(row)
    made = flow.last_producer(given[0], row) if given else None
    return frozenset() if made is None else traits_of(flow.events[made].op)


def _times_itself(sick: Sick) -> bool:
    """Whether the logarithm is multiplied by its operand, possibly through sums and differences: ``p * p.log()``."""
    flow, tensor = sick.flow, sick.tensor
    after = flow.descendants(flow.outputs(sick.row), sick.row, sick.states.made.__contains__).calls
    scaled = (row for row in after if operator(flow.events[row].op).is_a(Trait.SCALING))
    return any(tensor in flow.inputs(row) for row in scaled)


def _small_bound(sick: Sick) -> float | None:
    """Return the small constant by which the program meant to keep the operand off a pole, if it did."""
    maker = sick.maker
    if maker is None:
        return None
    event = sick.flow.events[maker]
    numbers = [one for key, one in event.data.get("arguments", {}).items() if key not in ("dim", "dtype")]
    small = [float(one) for one in numbers if type(one) in (int, float) and 0 < one <= MEANT_AS_EPSILON]
    kept = operator(event.op).traits & {Trait.ADDITION, Trait.CLAMPING, Trait.EXTREME}
    return small[0] if kept and len(small) == 1 else None


def _dtype(sick: Sick) -> str:
    tensor: Any = sick.tensor
    return "its dtype" if tensor is None else sick.flow.facts(tensor).dtype


def _smaller(flow: Flow, row: int, op: str, name: str) -> str:
    """Return the fix for numbers that are too large, which optimizer steps may have made of small ones."""
    smaller = (
        "take a smaller learning rate, or clip gradients" if flow.stepped_between(0, row) else f"scale {name} down"
    )
    return f"{smaller}: what {op} is given has grown beyond what it can take"


def _of_single_entries(flow: Flow, row: int) -> bool:
    """Whether a reduction left as many entries as it was given."""
    sizes = [prod(flow.facts(one).shape) for one in (*flow.inputs(row)[:1], *flow.outputs(row)[:1])]
    return len(sizes) == 2 and sizes[0] == sizes[1]


def _varies(flow: Flow, row: int) -> bool:
    """Whether a call's input has more than one value."""
    return any(state.least != state.most for state in map(state_of, known_limits(flow, row)))
