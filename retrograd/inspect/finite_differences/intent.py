"""Distinguishes backward rules that deliberately differ from the derivative from wrong ones.

Straight-through estimators, gradient reversal, clipping and the like are custom Functions because they are *not* the
derivative. Their effect shows it: forward changes nothing, or is flat where gradients pass, or backward is not linear
in the incoming gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..intent import COMMENT, MARK
from ..program.texts import lines_of
from ..sources.function_facts import code_of
from ..sources.kept_calls import Array
from .maps import Map, drawn_like

_LEAK = 0.3
_HALVINGS = 18


def leaves_values_alone(rule: Map, arrays: Sequence[Array], out: Sequence[Array], numbers: np.random.Generator) -> bool:
    """Whether forward is the identity, at several points: then it can only be meant to act on gradients."""
    if not _among(out, arrays):
        return False
    elsewhere = [drawn_like(one, numbers) for one in arrays]
    try:
        return _among(rule.values(elsewhere), elsewhere)
    except Exception:  # a place where the Function cannot be called says nothing against it
        return True


def _among(out: Sequence[Array], arrays: Sequence[Array]) -> bool:
    """Whether each output equals some argument."""
    return all(any(np.array_equal(one.ravel(), array.ravel()) for array in arrays) for one in out)


def is_declared(cls: Any) -> bool:
    """Whether the author marks backward as deliberate: by ``rg.deliberate`` or a comment."""
    if cls.__dict__.get(MARK):
        return True
    code = code_of(cls.backward)
    lines = [] if code is None else lines_of(code.co_filename)
    if code is None or not lines:
        return False
    first = code.co_firstlineno
    heads = [*lines[first - 1 : first + 1], *_class_line(lines[: first - 1])]
    return any(COMMENT.search(line) for line in heads)


def _class_line(before: list[str]) -> list[str]:
    """Return the line of the innermost ``class`` that begins above a line."""
    return next(([line] for line in reversed(before) if line.lstrip().startswith("class ")), [])


def jumps(rule: Map, arrays: Sequence[Array], argument: int, numbers: np.random.Generator) -> bool:
    """Whether forward is discontinuous: it rounds, compares or ranks, and backward replaces its missing slope.

    On a line to another point the part with the largest change is halved repeatedly: the change vanishes where forward
    is continuous, and grows at a pole.
    """
    start = arrays[argument]
    shuffled = numbers.permutation(start.ravel()).reshape(start.shape)
    for end in (shuffled if start.size > 1 else 1.7 * start, -shuffled):
        sizes = _changes(rule, arrays, argument, end)
        if (
            len(sizes) == _HALVINGS
            and 1e-3 * sizes[0] < 0.7 * sizes[_HALVINGS // 2] < sizes[-1] < 1.5 * sizes[_HALVINGS // 2]
        ):
            return True
    return False


def _changes(rule: Map, arrays: Sequence[Array], argument: int, end: Array) -> list[float]:
    """Return the largest change in each examined part of a line; fewer where values are not finite."""

    def at(share: float) -> list[Array]:
        moved = list(arrays)
        moved[argument] = np.asarray((1 - share) * arrays[argument] + share * end, end.dtype)
        return rule.values(moved)

    sizes: list[float] = []
    low, high = 0.0, 1.0
    below, above = at(low), at(high)
    while len(sizes) < _HALVINGS:
        middle = (low + high) / 2
        between = at(middle)
        first, second = _apart(below, between), _apart(between, above)
        if not np.isfinite(first + second):
            break
        sizes.append(max(first, second))
        low, high, below, above = (low, middle, below, between) if first > second else (middle, high, between, above)
    return sizes


def _apart(one: Sequence[Array], other: Sequence[Array]) -> float:
    """Return the largest difference between two lists of arrays."""
    return max(float(np.abs(a - b).max(initial=0.0)) for a, b in zip(one, other, strict=True))


def keeps_nothing(cls: Any) -> bool:
    """Whether forward saves nothing for backward, as rules that let gradients pass do."""
    for function in (cls.forward, cls.setup_context):
        code = code_of(function)
        if code is not None and "save_for_backward" in code.co_names:
            return False
    return True


def passes_on(products: Sequence[Array | None], given: Sequence[Array], argument: int) -> bool:
    """Whether backward returns the incoming gradient, possibly with entries left out."""
    product = products[argument]
    same = [one for one in given if product is not None and one.shape == product.shape]
    return any(bool(np.all((product == one) | (product == 0))) for one in same)


def leaks(products: Sequence[Array | None], given: Sequence[Array], argument: int, index: tuple[int, ...]) -> bool:
    """Whether backward passes a small share of the gradient where forward is flat, as an author may choose."""
    product = products[argument]
    same = [one for one in given if product is not None and one.shape == product.shape]
    return any(product is not None and 0 < abs(product[index]) <= _LEAK * abs(one[index]) for one in same)


def leaves_rows_out(product: Array | None, index: tuple[int, ...]) -> bool:
    """Whether an entry's whole row gets no gradient while others do, like padding in an embedding."""
    return product is not None and product.ndim > 1 and bool(product.any()) and not product[index[0]].any()


def bends(rule: Map, arrays: Sequence[Array], given: Sequence[Array]) -> bool:
    """Whether backward acts on gradients as no derivative does: it clips or gates them, which must be intended.

    A rule that adds a constant or ignores the incoming gradient does not count.
    """
    constant, once, twice, minus = (rule.products(arrays, [times * g for g in given]) for times in (0, 1, 2, -1))
    for rest, one, two, negative in zip(constant, once, twice, minus, strict=True):
        if rest is None or one is None or two is None or negative is None:
            continue
        straight = one - rest
        size = float(np.abs(straight).max(initial=0.0)) + float(np.abs(rest).max(initial=0.0))
        apart = max(np.abs(two - rest - 2 * straight).max(initial=0), np.abs(negative - rest + straight).max(initial=0))
        if not apart <= 1e-3 * size:
            return True
    return False
