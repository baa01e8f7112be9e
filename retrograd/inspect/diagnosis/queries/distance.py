"""Differences that count by size, whatever their sign: a distance to a target, not a ranking."""

from __future__ import annotations

from functools import partial

from ...operators import Trait
from ..facts.flow import Flow
from ..facts.row_table import Reached


def counts_by_size(flow: Flow, row: int) -> bool:
    """Whether a difference, scaled and arranged at most, is squared or taken without its sign.

    A hinge or the logarithm of a sigmoid asks only which of two scores is higher, and by what margin.
    """
    follow = partial(_leaves_a_difference, flow)
    arranged = flow.descendants(flow.events[row].data.get("outputs", ()), row, follow=follow)
    return any(flow.has_node(call) and _even(flow, call, arranged) for call in arranged.calls)


def _is_even_power(flow: Flow, call: int) -> bool:
    """Whether a call is a power by an even number, as far as its exponent is known."""
    numbers = flow.numbers(call)
    return flow.does(call, Trait.POWER) and bool(numbers) and all(one % 2 == 0 for one in numbers)


def _leaves_a_difference(flow: Flow, call: int) -> bool:
    """Whether a call's result is still a difference: scaled, summed or rearranged."""
    return flow.does(call, Trait.LINEAR, Trait.SCALING, Trait.PRODUCT, Trait.ARRANGING)


def is_regression(flow: Flow, row: int) -> bool:
    """Whether a call is a loss that measures how far predictions are from targets."""
    return flow.does(row, Trait.LOSS) and flow.does(row, Trait.DISTANCE)


def is_comparison(flow: Flow, row: int) -> bool:
    """Whether a call measures by its size, not by its sign, how far two tensors are apart."""
    return is_regression(flow, row) or (flow.does(row, Trait.DIFFERENCE) and counts_by_size(flow, row))


def _even(flow: Flow, call: int, arranged: Reached) -> bool:
    """Whether a call drops the sign: by itself, or because it uses the difference twice."""
    taken = flow.events[call].data.get("inputs", ())
    twice = len(taken) > 1 and flow.does(call, Trait.PRODUCT, Trait.EXTREME) and arranged.tensors.issuperset(taken)
    return flow.does(call, Trait.EVEN, Trait.DISTANCE) or _is_even_power(flow, call) or twice
