"""The form of a program's step: two steps with equal forms made the same calls on the same lines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from .events import Event
from .tensor_facts import TensorFacts

_FLICKERING = frozenset({"flat_share", "values"})
"""Keys whose presence depends on values: they come and go although nothing happened."""
_shown: Any = attrgetter("kind", "op", "source")


class Form(NamedTuple):
    """Hashes that are equal for similar steps."""

    calls: int
    """Hash of kinds of events, operators and lines."""
    shapes: int
    """Hash of these, and of the new tensors' facts."""
    signs: int
    """Hash of these, and of what went wrong or was missing."""
    wrong: bool
    """Whether something was not finite, or raised."""


def form_of(events: Sequence[Event], tensors: Iterable[TensorFacts | None], graphs: Sequence[int]) -> Form:
    """Return the form of a step, by its events, new tensors, and sizes of its graphs."""
    signs = list(filter(None, map(_signs, events)))
    calls = hash((*map(_shown, events), *(sign for sign in signs if sign[0] != "bad")))
    made = [None if one is None else (one.shape, one.dtype, one.requires_grad, one.leaf) for one in tensors]
    shapes = hash((calls, *made))
    wrong = [sign for sign in signs if sign[0] == "bad"]
    return Form(calls, shapes, hash((shapes, *wrong, *graphs)), bool(wrong))


def _signs(event: Event) -> tuple[Any, ...] | None:
    """Return what distinguishes an event from others on its line, beginning with ``"bad"`` if something went wrong."""
    facts = event.noted
    if facts and event.kind != "accumulate":
        return _signs_of_call(facts)
    data = event.data
    if event.kind == "accumulate":
        norm = data.get("grad_norm")
        if norm is not None and (norm == 0 or not math.isfinite(norm)):
            return "bad", data.get("tensor"), repr(norm)
        return data.get("before"), norm is None
    if "error" in data or event.kind == "error":
        return "bad", event.kind
    return tuple([value for value in data.values() if value.__class__ is str or value.__class__ is bool])


def _signs_of_call(facts: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return the same for an event whose data was not read yet."""
    note = facts[0]
    if note.__class__ is not tuple:
        return tuple([value for value in facts if value.__class__ is str])
    more = note[-1]
    if more.__class__ is not dict:
        return None
    if "error" in more or any(one.get("nan") or one.get("inf") for one in more.get("values", {}).values()):
        return "bad", *more
    return tuple([key for key in more if key not in _FLICKERING]) or None
