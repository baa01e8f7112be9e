"""Views that read axes in another order than they lie in memory: what belongs together is torn apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, permutations
from math import prod
from operator import mul

from ....operators import Trait
from ...base import Case
from ...facts.flow import Flow
from ...text.words import at, shape_text
from ...thresholds import AXES


def torn_views(flow: Flow) -> Iterator[Case]:
    """Yield a case for each line of a loss that gives a tensor the shape which swapping its axes would have.

    ``maps.view(batch, height * width, channels)`` of (batch, channels, height, width) swaps nothing.
    """
    reported = set()
    for row, event in flow.of_kind("operation"):
        own = event.source is None or not event.source.inside
        if event.source in reported or not own or not flow.has_node(row) or not flow.does(row, Trait.RESHAPING):
            continue
        order = _order(flow, row)
        if order is not None and row in flow.behind_losses.calls:
            reported.add(event.source)
            yield _case(flow, row, order)


def _order(flow: Flow, row: int) -> tuple[int, ...] | None:
    """Return the order of axes by which a view in order would have had its shape, None if it may be right as it is.

    Its shape has the same axes in another order, some joined, and begins a new row in the middle of one.
    """
    given, made = flow.events[row].data.get("inputs", ()), flow.outputs(row)
    if len(given) != 1 or len(made) != 1 or flow.trainable(given) or _is_lengthened(flow, given[0], row):
        return None
    old, new = (flow.facts(one).shape for one in (*given, *made))
    return _order_between(old, new)


@cache
def _order_between(old: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the order of axes by which one shape gives another; a program's views have few shapes, many times."""
    if prod(old) != prod(new) or not _tears([size for size in old if size > 1], [size for size in new if size > 1]):
        return None
    runs = range(1, 1 << (len(old) - 1)) if 1 < len(old) <= AXES else ()
    for joined in (0, *runs):
        parts = _parts(len(old), joined)
        sizes = [prod(old[axis] for axis in part) for part in parts]
        if sorted(sizes) != sorted(new):
            continue
        for places in permutations(range(len(parts))):
            if tuple(sizes[place] for place in places) == new:
                return tuple(axis for place in places for axis in parts[place])
    return None


def _is_lengthened(flow: Flow, tensor: int, row: int) -> bool:
    """Whether rows were made longer by constants: read on in other lengths they are shifted, each by one more."""
    made = flow.last_producer(tensor, row)
    if made is None or flow.does(made, Trait.WRITING):
        return False
    joined = flow.does(made, Trait.JOINING) and not all(flow.has_history(one, made) for one in flow.inputs(made))
    return joined or flow.does(made, Trait.FILLING)


def _parts(count: int, joined: int) -> list[list[int]]:
    """Return the axes in runs; a bit of ``joined`` says that an axis goes together with the one before it."""
    found = [[0]]
    for axis in range(1, count):
        if joined >> (axis - 1) & 1:
            found[-1].append(axis)
        else:
            found.append([axis])
    return found


def _tears(old: Sequence[int], new: Sequence[int]) -> bool:
    """Whether a new axis begins within an old one, and not at an even part of it."""
    begins = list(accumulate(old, mul, initial=1))
    for place in accumulate(new, mul):
        before = max(begin for begin in begins if begin <= place)
        after = next((begin for begin in begins if begin > place), None)
        if after is not None and (place % before or (after // before) % (place // before)):
            return True
    return False


def _case(flow: Flow, row: int, order: tuple[int, ...]) -> Case:
    """Return the case of one line."""
    event, given = flow.events[row], flow.inputs(row)[0]
    name, made = flow.operand_name(given, row), flow.outputs(row)[0]
    shapes = [flow.facts(one).shape for one in (given, made)]
    return Case(
        kind="mixed-axes",
        message=f"{event.op}{at(event.source)} turns {name} of shape {shape_text(shapes[0])} into "
        f"{shape_text(shapes[1])}, the same axes in another order, but moves no entry: each row of the result mixes "
        "parts of several.",
        remedy=f"swap the axes first: {name}.permute{order}.reshape{shape_text(shapes[1])}",
        source=event.source,
        op=event.op,
        marks=flow.marks(flow.run_after(row), [row], "axes are not swapped"),
        evidence={"shapes": list(map(list, shapes)), "order": list(order)},
    )
