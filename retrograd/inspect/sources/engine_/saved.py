"""Finds which tensors of a call its node saves for backward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from ....engine.nodes.saved import SavedTensor

_NO_TENSORS = frozenset({bool, int, float, str, type(None)})
_Plan = tuple[tuple[Callable[[Any], Any], bool], ...]
"""What reads each slot of a node that may keep a tensor, and whether that is its result."""
_Reader = Callable[[Any], Any]
readers: dict[type, _Reader] = {}
"""By class of node: what reads all that one keeps, a value perhaps twice."""
_plans: dict[type, _Plan | None] = {}
"""By class of node, which live as long as the engine; None for those without a slot for each value."""


def saved_numbers(node: Any, inputs: Sequence[Any], numbers: Sequence[int], outputs: Sequence[int]) -> list[int]:
    """Numbers of the inputs and outputs that a node keeps for backward."""
    cls = node.__class__
    plan = _plans[cls] if cls in _plans else _plan_of(cls)
    if plan is None:
        return _looked_for(node, inputs, numbers, outputs)
    found: list[int] = []
    for read, is_result in plan:
        value = read(node)
        if value is None:
            continue
        if is_result:
            found += outputs
            continue
        kept = value._tensor if value.__class__ is SavedTensor else value
        for place, t in enumerate(inputs):
            if t is kept:
                found.append(numbers[place])
                break
    return found


def reader_of(cls: Any) -> _Reader:
    """What reads all that nodes of a row keep, in whatever form; looked for once a class."""
    slots = [f"kept_{name}" for name in cls.op.saved_names] if hasattr(cls, "edge_0") else None
    if slots is None:
        read: _Reader = attrgetter("saved")
    elif not slots:
        read = _nothing
    else:
        read = attrgetter(*slots, slots[0])  # with the first one again, since of one alone it would give no tuple
    readers[cls] = read
    return read


def _nothing(node: Any) -> tuple[Any, ...]:
    return ()


def _plan_of(cls: type) -> _Plan | None:
    """Look at a class of nodes for the first time."""
    op = getattr(cls, "op", None)
    found = None
    if op is not None and hasattr(cls, "edge_0"):
        names = [name for name in op.saved_names if name in op.tensor_names or name == "result"]
        found = tuple([(attrgetter(f"kept_{name}"), name == "result") for name in names])
    _plans[cls] = found
    return found


def _looked_for(node: Any, inputs: Sequence[Any], numbers: Sequence[int], outputs: Sequence[int]) -> list[int]:
    """The same for nodes of any kind: each value is looked for among the inputs."""
    saved = getattr(node, "saved", None)
    found: list[int] = []
    if not saved:
        return found
    for name, value in zip(node.op.saved_names, saved, strict=False):
        if value.__class__ in _NO_TENSORS:
            continue
        if name == "result":
            found.extend(outputs)
            continue
        for one in value if isinstance(value, (list, tuple)) else (value,):
            kept = one._tensor if one.__class__ is SavedTensor else one
            for t, number in zip(inputs, numbers, strict=False):
                if t is kept:
                    found.append(number)
                    break
    return found
