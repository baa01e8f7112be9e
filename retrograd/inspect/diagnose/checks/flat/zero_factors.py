"""Gradients of zero because a value is zero: a factor of a whole branch, or a result too small for its dtype."""

from __future__ import annotations

from ....operators import Trait, is_a
from ...recorded.call_inputs import limits_of
from ...recorded.flow import Flow
from ...words import at
from .lost_gradients import NOTHING

_SHRINKING = {
    "prod": ("multiplies", "add up logarithms: {given}.log().sum() in place of the product, compared as a logarithm"),
    "exp": ("takes the exponential of", "compute with the logarithms themselves (torch.logsumexp, log_softmax)"),
}
"""Operator -> what it does to numbers, and what to write where the result is too small."""
_SUMS = frozenset({"sum", "mean", "add", "radd", "stack", "cat", "reshape", "view", "flatten"})
_PRODUCTS = frozenset({"mul", "rmul"})
Explained = tuple[str, str, str]
"""Kind, message and remedy."""


def vanished_value(flow: Flow, row: int, limits: tuple[float, float], they_get: str) -> Explained | None:
    """Return what explains a call whose result rounded to zero although nothing that it was given is zero."""
    event, made = flow.events[row], flow.outputs(row)[:1]
    ends = limits_of(flow, made[0], row + 1) if made else None
    if event.op not in _SHRINKING or ends is None or list(ends) != [0.0, 0.0]:
        return None
    if event.op == "prod" and not (limits[0] > 0 or limits[1] < 0):
        return None
    verb, remedy = _SHRINKING[event.op]
    dtype = flow.facts(made[0]).dtype
    message = (
        f"{event.op}{at(event.source)} {verb} numbers from {limits[0]:.4g} to {limits[1]:.4g}, and the result is too "
        f"small for {dtype}: it underflows to zero, and {they_get} a gradient of zero."
    )
    return "underflow", message, remedy.format(given=flow.name(flow.inputs(row)[0], event.source))


def both_zero(flow: Flow, row: int, they_get: str) -> Explained | None:
    """Return what explains a product both factors of which could learn and are zero: neither gives the other any."""
    event, given = flow.events[row], flow.inputs(row)
    if not is_a(event.op, Trait.CONTRACTION, Trait.SCALING):
        return None
    learning = [one for one in given if flow.has_history(one, row) or flow.requires_grad(one, row)]
    ends = [limits_of(flow, one, row) for one in learning[:2]]
    if len(learning) < 2 or any(one is None or list(one) != [0.0, 0.0] for one in ends):
        return None
    message = f"both factors of {event.op}{at(event.source)} are zero in every entry, so {they_get} a gradient of zero."
    return "zero-gradient", message, "start one of the two factors with other numbers than zeros; the other may be zero"


def switched_off(flow: Flow, stops: tuple[int, list[int]], leaves: list[int], they_get: str) -> Explained | None:
    """Return what explains a product with a constant zero, in every run, that is all these leaves are trained through.

    ``stops``: the product, and all calls at which gradients end.  A factor that is zero only for a while is a schedule,
    one that is zero in the first step of a recurrence is where that begins, and a sum of bare parameters times zero is
    there to give all of them a gradient.
    """
    row, stopping = stops
    event = flow.events[row]
    if event.op not in _PRODUCTS or not _by_constant_zero(flow, row) or not _computes(flow, row):
        return None
    if not all(_by_zero(flow, other) for other in stopping if _leads_to(flow, other, leaves)):
        return None
    norms = [arrived for leaf in leaves for arrived in flow.norms_of.get(leaf, ())]
    if len(norms) <= len(leaves) or any(norm is None or norm > NOTHING for arrived in norms for norm in arrived):
        return None
    message = f"mul{at(event.source)} multiplies by 0 in every step, so {they_get} a gradient of zero."
    return "zero-gradient", message, "use a factor other than 0, or leave the branch out and freeze what is behind it"


def _leads_to(flow: Flow, row: int, leaves: list[int]) -> bool:
    """Whether a call was computed from one of these leaves."""
    return not flow.behind(flow.inputs(row), row).tensors.isdisjoint(leaves)


def _by_zero(flow: Flow, row: int) -> bool:
    """Whether a call is a product with a factor that is zero, whatever it was made of."""
    ends = [limits_of(flow, one, row) for one in flow.inputs(row)]
    zero = any(one is not None and list(one) == [0.0, 0.0] for one in ends)
    return flow.events[row].op in _PRODUCTS and (zero or _by_constant_zero(flow, row))


def _by_constant_zero(flow: Flow, row: int) -> bool:
    """Whether one factor of a product is the number zero, or a tensor of zeros that nothing trains."""
    numbers = [one for one in flow.events[row].data.get("arguments", {}).values() if isinstance(one, int | float)]
    constant = [one for one in flow.inputs(row) if not flow.has_history(one, row) and not flow.requires_grad(one)]
    ends = [limits_of(flow, one, row) for one in constant]
    return 0 in numbers or any(one is not None and list(one) == [0.0, 0.0] for one in ends)


def _computes(flow: Flow, row: int) -> bool:
    """Whether more than sums of parameters is behind a product."""
    behind = flow.behind(flow.inputs(row), row).calls
    return any(flow.events[call].op not in _SUMS for call in behind if flow.has_node(call))
