"""``torch.func.rearrange``: dimensions named in a pattern, reordered, merged and split."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any

from ..methods import FUNCTIONS

Axes = list[list[str]]
"""The sides of a pattern: for each dimension the names of the axes that are merged in it."""
_REST = "..."


def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> Any:
    """A tensor (or tensors, stacked first) with the dimensions that ``pattern`` names in another order.

    ``"b h w c -> b (h w) c"`` merges, ``"(a b) c -> a b c"`` splits where ``axes_lengths`` gives all but one length;
    ``...`` means all other dimensions.  ``ValueError`` for a pattern that does not fit.
    """
    if isinstance(tensor, (list, tuple)):
        tensor = FUNCTIONS["stack"](list(tensor))
    if pattern.count("->") != 1:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = (_side(text) for text in pattern.split("->"))
    _check_names(pattern, left, right, axes_lengths)
    left, right = _with_rest(left, right, tensor.ndim)
    lengths = _lengths(left, tuple(tensor.shape), axes_lengths)
    names = [name for part in left for name in part if name != "1"]
    split = tensor.reshape([lengths[name] for name in names])
    order = [names.index(name) for part in right for name in part if name != "1"]
    return split.permute(order).reshape([math.prod(lengths[n] for n in part if n != "1") for part in right])


def _side(text: str) -> Axes:
    """One side of a pattern; ``ValueError`` where it is not well formed."""
    if text.count(".") != 3 * text.count(_REST) or text.count(_REST) > 1:
        raise ValueError("Expression may contain dots only inside ellipsis (...); only one ellipsis for tensor ")
    parts: Axes = []
    inside: list[str] | None = None
    for token in re.findall(r"\.\.\.|[()]|[^\s().]+", text):
        if token == "(":
            if inside is not None:
                raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
            inside = []
            parts.append(inside)
        elif token == ")":
            if inside is None:
                raise ValueError("Brackets are not balanced")
            inside = None
        elif inside is None:
            parts.append([_checked(token)])
        else:
            inside.append(_checked(token))
    if inside is not None:
        raise ValueError(f"Imbalanced parentheses in expression: '{text}'")
    return parts


def _checked(name: str) -> str:
    if name.isdecimal() and name != "1":
        raise ValueError("rearrange only supports unnamed axes of size 1")
    if name not in ("1", _REST):
        if not name.isidentifier():
            raise ValueError(f"Invalid axis identifier: {name}\nnot a valid python identifier")
        if name.startswith("_") or name.endswith("_"):
            raise ValueError(
                f"Invalid axis identifier: {name}\naxis name should should not start or end with underscore"
            )
    return name


def _check_names(pattern: str, left: Axes, right: Axes, given: dict[str, int]) -> None:
    """``ValueError`` unless each axis occurs once on both sides, and every length belongs to one."""
    sides = [Counter(name for part in side for name in part if name != "1") for side in (left, right)]
    for side in sides:
        for name, count in side.items():
            if count > 1:
                raise ValueError(f"Indexing expression contains duplicate dimension '{name}'")
    if _REST in sides[1] and _REST not in sides[0]:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    lonely = sides[0].keys() ^ sides[1].keys()
    if lonely:
        raise ValueError(f"Identifiers only on one side of rearrange expression (should be on both): {set(lonely)}")
    unknown = given.keys() - sides[0].keys()
    if unknown:
        raise ValueError(f"Identifiers not found in rearrange expression: {set(unknown)}")


def _with_rest(left: Axes, right: Axes, ndim: int) -> tuple[Axes, Axes]:
    """Both sides with names for the dimensions that ``...`` represents."""
    has_rest = any(_REST in part for part in left)
    count = ndim - len(left) + has_rest
    if count < 0 or (count and not has_rest):
        raise ValueError(
            f"Number of dimensions in pattern ({len(left) - has_rest}) must be "
            f"{'less than or ' if has_rest else ''}equal to the number of dimensions in the tensor ({ndim})"
        )
    rest = [f"...{i}" for i in range(count)]
    return _spread(left, rest), _spread(right, rest)


def _spread(side: Axes, rest: list[str]) -> Axes:
    spread: Axes = []
    for part in side:
        if part == [_REST]:
            spread += [[name] for name in rest]
        else:
            spread.append([name for entry in part for name in (rest if entry == _REST else [entry])])
    return spread


def _lengths(left: Axes, shape: tuple[int, ...], given: dict[str, int]) -> dict[str, int]:
    """The length of each axis; ``ValueError`` where a dimension cannot be split as asked."""
    lengths = dict(given)
    for part, size in zip(left, shape, strict=True):
        open_ = [name for name in part if name != "1" and name not in lengths]
        known = math.prod(lengths[name] for name in part if name in lengths)
        if len(open_) > 1:
            raise ValueError(f"cannot infer the sizes of two dimensions at once {open_[0]} and {open_[1]}")
        if size != known if not open_ else size % max(known, 1) != 0:
            raise ValueError(f"inferred dimension does not evenly fit into larger dimension: {size} vs {tuple(part)}")
        for name in open_:
            lengths[name] = size // max(known, 1)
    return lengths
