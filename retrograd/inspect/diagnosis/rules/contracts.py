"""Contracts of losses: what each expects as prediction and target, compared with the actual values."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...operators import Trait, canonical, operator
from ...program.syntax import parsed_expression
from ..base import Case, Check, Kind, Stage
from ..facts.call_inputs import limits_and_sum, limits_of
from ..facts.flow import Flow
from ..text.spelling import operand
from ..text.words import at
from ..thresholds import ROUNDED_CHANCES

KINDS = {
    "loss-contract": Kind("a loss is given numbers of another sort than it takes", "warning", Stage.STATEMENT),
}


@dataclass(frozen=True, slots=True)
class Operand:
    """One tensor that a loss was given in one call."""

    flow: Flow
    row: int
    tensor: int

    @property
    def limits(self) -> tuple[float, float] | None:
        """Its least and greatest entry, if they are known and numbers."""
        found = limits_of(self.flow, self.tensor, self.row)
        if not found or found[0] is None or found[1] is None or found[0] != found[0]:
            return None
        return float(found[0]), float(found[1])

    @property
    def maker(self) -> int | None:
        """The call that computed its entries: those that only arrange or convert them are passed over."""
        tensor, before = self.tensor, self.row
        while (row := self.flow.last_producer(tensor, before)) is not None:
            if not operator(self.flow.events[row].op).is_a(Trait.ARRANGING) or not self.flow.inputs(row):
                return row
            tensor, before = self.flow.inputs(row)[0], row
        return None

    @property
    def made(self) -> str:
        """`` (made by softmax at train.py:7)``, or nothing."""
        row = self.maker
        return "" if row is None else f" (made by {self.flow.events[row].op}{at(self.flow.events[row].source)})"

    @property
    def name(self) -> str:
        """What the loss's line calls it."""
        return self.flow.operand_name(self.tensor, self.row)

    def lies(self, least: float, most: float) -> bool:
        """Whether all entries are known to lie between two numbers."""
        limits = self.limits
        return limits is not None and least <= limits[0] and limits[1] <= most

    def sums_to_one(self) -> bool:
        """Whether the classes of each row add up to 1, as far as the sum over all rows shows."""
        shape = self.flow.facts(self.tensor).shape
        total = limits_and_sum(self.flow, self.tensor, self.row)[1]
        if total is None or not shape or not self.lies(0.0, 1.0):
            return False
        rows = math.prod(shape) / shape[self.classes]
        return rows > 1 and abs(total - rows) <= ROUNDED_CHANCES * rows

    @property
    def distribution(self) -> int | None:
        """The call that made it probabilities, whose logarithm was taken since at most."""
        does, row = self.flow.does, self.flow.last_producer(self.tensor, self.row)
        while row is not None and does(row, Trait.LOGARITHMIC) and not does(row, Trait.PROBABILITY):
            row = self.flow.last_producer(self.flow.inputs(row)[0], row)
        return row if row is not None and does(row, Trait.PROBABILITY) else None

    @property
    def classes(self) -> int:
        """The dimension along which classes lie: behind examples, or behind steps and sequences that are aligned."""
        last = max(len(self.flow.facts(self.tensor).shape) - 1, 0)
        return last if self.flow.does(self.row, Trait.ALIGNING) else min(last, 1)

    @property
    def other_dimension(self) -> int | None:
        """The dimension over which it was made probabilities, if the classes lie along another one."""
        row, shape = self.distribution, self.flow.facts(self.tensor).shape
        arguments = {} if row is None else self.flow.events[row].data.get("arguments", {})
        dim = arguments.get("dim", arguments.get("1"))
        over = dim % len(shape) if type(dim) is int and len(shape) > 1 else self.classes
        return None if over == self.classes else over

    def is_squashed(self) -> bool:
        """Whether the call that computed it squashes whatever comes into (0, 1), as softmax and sigmoid do."""
        row = self.maker
        bounds = None if row is None else operator(self.flow.events[row].op).flat
        return bounds is not None and 0.0 <= bounds[0] and bounds[1] == 1.0


@dataclass(frozen=True, slots=True)
class Breach:
    """How one operand of a loss violates its contract."""

    place: int
    """0: the prediction, 1: the target."""
    broken: Callable[[Operand], bool]
    says: str
    fix: str
    at_maker: bool = False
    """The line to mend is that of the call that made the operand."""


def _over_others(one: Operand) -> bool:
    return one.other_dimension is not None


def _probabilities(one: Operand) -> bool:
    return one.sums_to_one() or (one.is_squashed() and one.lies(0.0, 1.0))


def _squashed(one: Operand) -> bool:
    return one.is_squashed() and one.lies(0.0, 1.0)


def _above_zero(one: Operand) -> bool:
    limits = one.limits
    return limits is not None and limits[1] > ROUNDED_CHANCES


def _below_zero(one: Operand) -> bool:
    limits = one.limits
    return limits is not None and limits[0] < -ROUNDED_CHANCES


def _outside_unit(one: Operand) -> bool:
    limits = one.limits
    return limits is not None and (limits[0] < -ROUNDED_CHANCES or limits[1] > 1 + ROUNDED_CHANCES)


def _truth_values(one: Operand) -> bool:
    return one.limits == (0.0, 1.0)


def _swapped(one: Operand) -> bool:
    """Whether the target is trained, and the prediction looks like labels."""
    given = one.flow.inputs(one.row)
    trained = [one.flow.has_history(tensor, one.row) for tensor in given[:2]]
    return trained == [False, True] and one.lies(0.0, 1.0)


def _swapped_logarithms(one: Operand) -> bool:
    """Whether logarithms are in the place of probabilities, and vice versa."""
    other = Operand(one.flow, one.row, one.flow.inputs(one.row)[-1])
    return _above_zero(one) and other.limits is not None and other.limits[1] <= 0.0 and _below_zero(other)


def _mostly_beyond_unit(one: Operand) -> bool:
    """Whether most of a grid is off on one side, by the mean of all its coordinates."""
    total = limits_and_sum(one.flow, one.tensor, one.row)[1]
    return total is not None and abs(total) > math.prod(one.flow.facts(one.tensor).shape)


_COORDINATES = Breach(
    1,
    _mostly_beyond_unit,
    "takes a grid of coordinates between -1 and 1, from border to border, and {name}{made} lies between {least:g} and "
    "{most:g}, most of it beyond the border, where nothing is sampled and nothing is learned",
    "scale pixels to that range: 2 * x / (width - 1) - 1 with align_corners=True, (2 * x + 1) / width - 1 without",
)
_SWAPPED = Breach(
    0,
    _swapped,
    "takes the prediction first, and {name}{made} has no history, while the target is what is trained",
    "swap the arguments: prediction first, target second",
)
_ONE_OF_TWO = Breach(
    1,
    _truth_values,
    "takes targets of -1 and 1, and {name}{made} holds 0 and 1: where it is 0 nothing is learned",
    "2 * {code} - 1 as target",
)
_UNIT_TARGET = Breach(
    1,
    _outside_unit,
    "takes targets between 0 and 1, and {name}{made} lies between {least:g} and {most:g}: the loss has no lower bound",
    "labels of 0 and 1 as target: (labels > 0).float()",
)
_SCORES_WANTED = Breach(
    0,
    _probabilities,
    "takes scores and applies log_softmax itself, and {name}{made} holds probabilities: gradients are small and the "
    "loss cannot come near 0",
    "give the scores themselves, without softmax; or F.nll_loss(torch.log({code}), target)",
    at_maker=True,
)
_LOGITS_WANTED = Breach(
    0,
    _squashed,
    "takes scores and applies sigmoid itself, and {name}{made} holds probabilities: gradients are small and the loss "
    "cannot come near 0",
    "give the scores themselves, without {maker}; or F.binary_cross_entropy({code}, target)",
    at_maker=True,
)
_LOGARITHMS_WANTED = (
    Breach(
        0,
        _over_others,
        "takes the log-probabilities of classes, which lie along dimension {classes}, and {name}{made} adds up to 1 "
        "along dimension {dimension}: raising one entry lowers those of other rows, not those of other classes",
        "dim={classes} in {maker}",
        at_maker=True,
    ),
    Breach(
        0,
        _probabilities,
        "takes log-probabilities, and {name}{made} holds probabilities: the loss is only their mean with a minus",
        "F.log_softmax(scores, dim) in place of softmax, or F.cross_entropy(scores, target)",
    ),
    Breach(
        0,
        _above_zero,
        "takes log-probabilities, which are never above 0, and {name}{made} lies between {least:g} and {most:g}: "
        "raising all scores lowers the loss without end",
        "F.log_softmax({code}, dim) before it, or F.cross_entropy({code}, target)",
    ),
)
_OF_ALIGNMENTS = (
    _LOGARITHMS_WANTED[0],
    Breach(
        0,
        _above_zero,
        "takes log-probabilities, which are never above 0, and {name}{made} lies between {least:g} and {most:g}",
        "F.log_softmax({code}, dim={classes}) before it",
    ),
)
_OF_DIVERGENCE = (
    Breach(
        0,
        _swapped_logarithms,
        "takes log-probabilities first and probabilities as target, and gets them the other way round",
        "swap the arguments, or give log-probabilities of both and log_target=True",
    ),
    Breach(
        0,
        _above_zero,
        "takes log-probabilities as its first argument, and {name}{made} lies between {least:g} and {most:g}",
        "F.log_softmax(scores, dim) (or {code}.log()) as first argument; the target stays as probabilities, or "
        "log_target=True",
    ),
    Breach(
        1,
        _below_zero,
        "takes probabilities as target, and {name}{made} lies between {least:g} and {most:g}, as logarithms do",
        "log_target=True, or {code}.exp() as target",
    ),
)
BREACHES: dict[str, tuple[Breach, ...]] = {
    "cross_entropy": (_SWAPPED, _SCORES_WANTED),
    "nll_loss": _LOGARITHMS_WANTED,
    "ctc_loss": _OF_ALIGNMENTS,
    "kl_div": _OF_DIVERGENCE,
    "binary_cross_entropy_with_logits": (_SWAPPED, _LOGITS_WANTED, _UNIT_TARGET),
    "binary_cross_entropy": (_SWAPPED, _UNIT_TARGET),
    "cosine_embedding_loss": (_ONE_OF_TWO,),
    "hinge_embedding_loss": (_ONE_OF_TWO,),
    "margin_ranking_loss": (_ONE_OF_TWO,),
    "soft_margin_loss": (_ONE_OF_TWO,),
    "grid_sampler": (_COORDINATES,),
}
"""Loss -> possible violations by its operands; only the first is reported."""
_LAST_TARGET = frozenset({"cosine_embedding_loss", "margin_ranking_loss"})
"""Losses of three tensors, of which the last is the target."""


def find(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line whose loss is given something else in each of its calls."""
    calls: dict[tuple[object, str], list[int]] = defaultdict(list)
    for row, event in flow.of_kind("operation"):
        loss = canonical(event.op)
        if loss in BREACHES and flow.has_node(row) and "error" not in event.data and not _is_part(flow, row, loss):
            calls[event.source, loss].append(row)
    for (_, loss), rows in calls.items():
        for breach in BREACHES[loss]:
            operands = [_operand(flow, row, loss, breach) for row in rows]
            known = [one for one in operands if one is not None and one.limits is not None]
            if known and all(map(breach.broken, known)) and not _takes_logarithms(flow, known[0], breach):
                yield _case(flow, known[0], loss, breach)
                break


CHECK = Check("contracts", KINDS, find)


def _is_part(flow: Flow, row: int, loss: str) -> bool:
    """Whether a call is a part of a loss that its engine computes in several, and not the one with the scores."""
    return _same_loss(flow, row, loss, after=False) or (
        len(flow.events[row].data["inputs"]) > 1 and _same_loss(flow, row, loss, after=True)
    )


def _same_loss(flow: Flow, row: int, loss: str, *, after: bool) -> bool:
    """Whether the same loss, called by the same line, made a call's operand, or takes its result."""
    others = (
        [use for out in flow.outputs(row) for use in flow.used_in.get(out, ())]
        if after
        else [made for given in flow.inputs(row) for made in flow.made_in.get(given, ())]
    )
    events = (flow.events[one] for one in others)
    return any(canonical(one.op) == loss and one.source == flow.events[row].source for one in events)


def _operand(flow: Flow, row: int, loss: str, breach: Breach) -> Operand | None:
    """Return the operand that a violation is about."""
    given = flow.inputs(row)
    place = len(given) - 1 if breach.place and loss in _LAST_TARGET else breach.place
    return Operand(flow, row, given[place]) if place < len(given) else None


def _takes_logarithms(flow: Flow, one: Operand, breach: Breach) -> bool:
    """Whether a target of logarithms was announced."""
    return breach.place == 1 and flow.events[one.row].data.get("arguments", {}).get("log_target") is True


def _case(flow: Flow, one: Operand, loss: str, breach: Breach) -> Case:
    """Return the case of one loss and its operand."""
    other = one.other_dimension
    event, maker = flow.events[one.row], one.maker if other is None else one.distribution
    least, most = one.limits or (0.0, 0.0)
    spelled = parsed_expression(one.name) is not None
    code = one.name if spelled else ("scores", "target")[breach.place]
    name = one.name if spelled else ("the prediction", "the target")[breach.place]
    slots = {"name": name, "code": operand(code), "made": one.made, "least": least, "most": most}
    slots |= {"dimension": str(other), "classes": one.classes}
    slots["maker"] = flow.events[maker].op if maker is not None else "the squashing"
    spoiled = any(math.isnan(end) for limits in event.data.get("range", ()) for end in limits or ())
    own = one.is_squashed() or other is not None
    made_at = flow.events[maker].source if breach.at_maker and maker is not None and own else None
    return Case(
        kind="loss-contract",
        message=f"{loss}{at(event.source)} {breach.says.format(**slots)}.",
        remedy=breach.fix.format(**slots),
        source=made_at or event.source,
        op=event.op,
        severity="error" if spoiled else None,
        marks=flow.marks(flow.run_after(one.row), [one.row], "takes something else"),
        evidence={
            "loss": list(event.source or ()),
            "least": least,
            "most": most,
            "dimension": other,
            "classes": one.classes,
        },
    )
