"""Positions of the tensors among a call's arguments, found once for each combination of argument types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any

from ....bounded import BoundedDict

Place = tuple[int | str, int]
"""Position or keyword of an argument, and an index in the list there, -1 for none."""
Pick = Callable[[Sequence[Any]], tuple[Any, ...]]
TOO_MANY = 10_000
"""Arguments of one call that are examined."""
_PLAIN = frozenset({int, float, str, bool, type(None)})
_HOMES = frozenset({"builtins", "torch", "torch.nn.parameter"})
"""Modules of types whose forms are cached: classes of the program itself may be freed."""


class Form:
    """Types and keywords of arguments, and functions that pick tensors from all values, keywords last."""

    __slots__ = ("lists", "others", "places", "plain", "tensors")

    def __init__(self, count: int, names: Sequence[str], kinds: Sequence[type], types: tuple[type, type]) -> None:
        """``count`` is the number of positional arguments; ``types`` are the classes of tensors and parameters."""
        tensor = types[0]
        where = [*range(count), *names]
        inside = [place for place, kind in enumerate(kinds) if issubclass(kind, tensor)]
        self.places: tuple[Place, ...] = tuple((where[place], -1) for place in inside)
        self.plain = all(kinds[place] in types for place in inside)
        """Whether no tensor is of a subclass."""
        self.tensors = _picker(inside)
        self.others = _picker([place for place in range(len(kinds)) if place not in inside])
        self.lists = tuple(place for place, kind in enumerate(kinds) if holds(kind))
        """Positions of containers that may hold tensors."""


class Forms:
    """The forms of all calls so far."""

    def __init__(self, tensor: type, parameter: type) -> None:
        self._tensor, self._parameter = tensor, parameter
        self._known: BoundedDict[tuple[Any, ...], Form] = BoundedDict(10_000)

    def of(self, args: tuple[Any, ...], kwargs: dict[str, Any], values: Sequence[Any]) -> Form | None:
        """Return the form of arguments, all of which are ``values``; None if there are tensors in lists."""
        kinds = tuple(map(type, values))
        key = (kinds, *kwargs) if kwargs else kinds
        form = self._known.get(key)
        if form is None:
            form = Form(len(args), list(kwargs), kinds, (self._tensor, self._parameter))
            if all(kind.__module__ in _HOMES for kind in kinds):
                self._known[key] = form
        for place in form.lists:
            for entry in entries_of(values[place]):
                if isinstance(entry, self._tensor) or holds(entry.__class__):
                    return None
        return form


def holds(kind: type) -> bool:
    """Whether objects of a type may hold tensors: sizes are tuples of numbers."""
    return kind not in _PLAIN and issubclass(kind, (list, tuple, dict)) and kind.__name__ != "Size"


def entries_of(value: Any) -> Sequence[Any]:
    """Return the entries of a container, up to a limit; none for anything else."""
    if not holds(value.__class__):
        return ()
    return list(islice(value.values(), TOO_MANY)) if isinstance(value, dict) else value[:TOO_MANY]


def tensors_in(value: Any, tensor: type, most: int) -> list[Any]:
    """Return the tensors in a value, at any depth of containers, in order."""
    found, waiting = list[Any](), [value]
    while waiting and len(found) < most:
        one = waiting.pop()
        if isinstance(one, tensor):
            found.append(one)
        elif holds(one.__class__) and len(waiting) < TOO_MANY:
            waiting += reversed(entries_of(one))
    return found


def _picker(places: Sequence[int]) -> Pick:
    """Return a function that picks the values at these positions."""
    if len(places) > 1:
        return itemgetter(*places)
    if not places:
        return _none
    place = places[0]
    return lambda values: (values[place],)


def _none(values: Sequence[Any]) -> tuple[Any, ...]:
    return ()
