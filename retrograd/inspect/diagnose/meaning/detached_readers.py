"""Networks that read another one's features without training it, and are to learn from what that one gives."""

from __future__ import annotations

from ..recorded.flow import Flow, Reached
from .distance import ARRANGEMENTS, REGRESSIONS
from .held_by_data import comes_to, compared_with_data, given_to
from .own_outputs import SOFT_TARGETS, also_the_other_way, is_distance, is_soft_target, made_by, scores_of

_SCALES = frozenset({"div", "mul", "true_divide"})
_TOWARDS_LABELS = ARRANGEMENTS | _SCALES | {"log_softmax", "softmax", "sigmoid", "logsigmoid", "log", "neg"}
"""Calls between the scores of a classifier and the loss that holds them to labels."""
_BY_INDEX = frozenset({"cross_entropy", "nll_loss", "gather", "take_along_dim", "multi_margin_loss"})
_LABELLED = SOFT_TARGETS | _BY_INDEX | {"mul"}
"""Calls that bring labels to scores, as indices or as weights of logarithms."""


def teaches_its_reader(flow: Flow, target: int, prediction: int, row: int, calls: set[int]) -> bool:
    """Whether a prediction is read from detached values of the network that gives the target, which data train.

    Who detaches what a head reads does not want it to move the rest; by a target with a history it does all the same.
    Both learn then, and the target follows its pupil.  A target that no data hold, as a posterior, may be drawn to it.
    """
    soft = is_soft_target(flow, target, prediction, row)
    if not soft and not is_distance(flow, row):
        return False
    mine, theirs = flow.behind([prediction], row), flow.behind([target], row)
    leaves, own = flow.leaves_behind(mine), flow.leaves_behind(theirs)
    if not leaves or not own or not leaves.isdisjoint(own) or not _reads_detached(flow, mine, own, row):
        return False
    if not soft:
        return compared_with_data(flow, target, calls)
    if also_the_other_way(flow, mine, theirs, calls):
        return False
    return any(_is_labelled(flow, one, calls) for one in (target, *_scores(flow, target, row)))


def _reads_detached(flow: Flow, mine: Reached, own: set[int], row: int) -> bool:
    """Whether a prediction takes numbers with a fraction that were computed from these leaves and then cut off."""
    read = [one for one in given_to(flow, mine) if not flow.requires_grad(one) and "float" in flow.facts(one).dtype]
    return any(not own.isdisjoint(flow.leaves_behind(flow.behind([one], row, gradients=False))) for one in read)


def _scores(flow: Flow, target: int, row: int) -> list[int]:
    """Return what the softmax of a target was taken of, and what that was before it was scaled."""
    found, before = scores_of(flow, (target,), row), row
    while found and made_by(flow, found[-1], before) in _SCALES:
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
    """Whether a call brings scores together with what nothing trains; indices may be left out of its record."""
    op, inputs = flow.events[call].op, flow.inputs(call)
    trained = [one for one in inputs if flow.has_history(one, call) or flow.requires_grad(one, call)]
    beside = len(inputs) > 1 or op in _BY_INDEX
    return op in REGRESSIONS | _LABELLED and len(trained) == 1 and beside
