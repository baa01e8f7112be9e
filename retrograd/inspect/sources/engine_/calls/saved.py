"""Finds which tensors of a call its node saves for backward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter, is_
from typing import Any

from .....engine.nodes.saved import SavedTensor

_NO_TENSORS = frozenset({bool, int, float, str, type(None)})
_Plan = tuple[Callable[[Any], Any], tuple[int, ...], bool]
"""A reader of the slots of a node that may save a tensor, their usual positions among the inputs or ``_RESULT``, and
whether these are the first inputs in order, so that they are compared at once."""
_RESULT = -1
"""Position that means the results."""
_Positions = tuple[int, ...]
_patterns: dict[_Positions, _Positions] = {}
"""Positions that occurred, so that equal ones are one object."""
_Reader = Callable[[Any], Any]
readers: dict[type, _Reader] = {}
"""By class of node: reads all that a node saves, perhaps twice."""
_plans: dict[type, _Plan | None] = {}
"""By class of node, which are never freed; None for those without a slot for each value."""


def saved_positions(node: Any, inputs: Sequence[Any]) -> _Positions:
    """Return the positions of the inputs that a node saves for backward; -1 for its results."""
    try:
        plan = _plans[node.__class__]
    except KeyError:
        plan = _plan_of(node.__class__)
    if plan is None:
        found = _looked_for(node, inputs)
    else:
        read, places, first = plan
        if not places:
            return places
        kept = read(node)
        if first and len(inputs) >= len(kept) and all(map(is_, kept, inputs)):
            return places
        found, count = [], len(inputs)
        for value, usual in zip(kept, places):  # noqa: B905 - `read` may read the first slot again
            if value is None:
                continue
            if usual == _RESULT or (usual < count and inputs[usual] is value):
                found.append(usual)
                continue
            tensor = value._tensor if value.__class__ is SavedTensor else value
            for place, t in enumerate(inputs):
                if t is tensor:
                    found.append(place)
                    break
    positions = tuple(found)
    return _patterns.setdefault(positions, positions)


def saved_numbers(positions: _Positions, inputs: Sequence[int], outputs: Sequence[int]) -> list[int]:
    """Return the numbers of the tensors at these positions."""
    found: list[int] = []
    for place in positions:
        if place == _RESULT:
            found += outputs
        else:
            found.append(inputs[place])
    return found


def reader_of(cls: Any) -> _Reader:
    """Return a function that reads all that nodes of a class save, in whatever form; cached by class."""
    read = _reader_of(cls.op.saved_names) if hasattr(cls, "edge_0") else attrgetter("saved")
    readers[cls] = read
    return read


def _reader_of(names: Sequence[str]) -> _Reader:
    """Return a function that reads these slots; a single one twice, since ``attrgetter`` would not return a tuple."""
    slots = [f"kept_{name}" for name in names]
    return attrgetter(*slots, *slots[: len(slots) == 1]) if slots else _nothing


def _nothing(node: Any) -> tuple[Any, ...]:
    return ()


def _plan_of(cls: type) -> _Plan | None:
    """Return the plan of a class of nodes that was not seen before."""
    op = getattr(cls, "op", None)
    found = None
    if op is not None and hasattr(cls, "edge_0"):
        names = [name for name in op.saved_names if name in op.tensor_names or name == "result"]
        operands = list(op.tensor_names)
        places = tuple([_RESULT if name == "result" else operands.index(name) for name in names])
        places = _patterns.setdefault(places, places)
        found = (_reader_of(names), places, len(places) > 1 and places == tuple(range(len(places))))
    _plans[cls] = found
    return found


def _looked_for(node: Any, inputs: Sequence[Any]) -> list[int]:
    """Return the same for nodes of any kind: each value is searched for among the inputs."""
    saved = getattr(node, "saved", None)
    found: list[int] = []
    if not saved:
        return found
    for name, value in zip(node.op.saved_names, saved, strict=False):
        if value.__class__ in _NO_TENSORS:
            continue
        if name == "result":
            found.append(_RESULT)
            continue
        for one in value if isinstance(value, (list, tuple)) else (value,):
            kept = one._tensor if one.__class__ is SavedTensor else one
            for place, t in enumerate(inputs):
                if t is kept:
                    found.append(place)
                    break
    return found
