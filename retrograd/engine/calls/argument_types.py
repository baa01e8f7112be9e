"""Checks the types of arguments before a call: PyTorch refuses wrong types before it computes anything.

NumPy would accept many of them: a float or a bool for a size, a tuple for a dimension, a string for a flag. Whether
arguments fit depends on their types alone, so the types of accepted calls are remembered; a check of a known call takes
0.4 µs, with keywords or a list among the arguments 0.6 to 1.3. Only integers in place of a number are checked each
time: they must not have more than 64 bits. Classes defined by the program are remembered through weak references: a
class holds its methods, and those hold everything at the program's top level.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any
from weakref import ref

from ..core.numbers_ import check_width
from .overload_choice import misfit, numbers_among
from .signatures import signatures

_HEAP = 1 << 9
"""``Py_TPFLAGS_HEAPTYPE``: the class was made while Python runs."""
_OURS = __name__.partition(".")[0]
_MOST_PASSING = 256
_NOTHING: frozenset[Any] = frozenset()
_NOWHERE: Mapping[Any, tuple[int, ...]] = {}


class KindCheck:
    """Raises ``TypeError`` in torch's words for arguments of the wrong kind to one public function.

    ``spread``: several sizes may stand in place of one list of them, as in ``x.view(2, 3)``.

    There are 1,200 of them, and Python's garbage collector looks at each object of each again and again: closures in
    place of this class were 12 objects more for each, a quarter of all that the engine has, and a set of their own for
    each function, most of which are never called, one.
    """

    __slots__ = ("fitting", "integers", "name", "passing", "sequences", "spread")

    def __init__(self, name: str, *, spread: bool = False) -> None:
        self.name, self.spread = name, spread
        self.fitting: Set[Any] = _NOTHING
        """Types of arguments that fit; callers with none but positional ones may look here first."""
        self.sequences: dict[Any, tuple[int, ...]] = {}
        """Where lists and tuples stand: the types of their elements count, too."""
        self.integers: Mapping[Any, tuple[int, ...]] = _NOWHERE
        """Where integers stand for numbers, for types of arguments that fit but for how long those are."""
        self.passing: set[Any] | None = None
        """What fits of classes that may go."""

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise ``TypeError`` for arguments that do not fit."""
        values = (*args, *kwargs.values()) if kwargs else args
        types = (*map(type, values), *kwargs) if kwargs else tuple(map(type, args))
        fitting = self.fitting
        if types in fitting:
            return
        key = types
        for i in self.sequences.get(types, ()):
            key += (frozenset(map(type, values[i])),)
        places = self.integers.get(key)
        if places is not None:
            for i in places:
                check_width(values[i])
        elif key not in fitting:
            self._look(args, kwargs, types)

    def _look(self, args: tuple[Any, ...], kwargs: dict[str, Any], types: tuple[Any, ...]) -> None:
        """Judge arguments of types that have not been seen, and remember them if they fit."""
        values = (*args, *kwargs.values())
        places = tuple([i for i, v in enumerate(values) if isinstance(v, (tuple, list))])
        key = (*types, *[frozenset(map(type, values[i])) for i in places])
        weak = _weakly(key)
        if self.passing is not None and weak in self.passing:
            return
        if signatures(self.name):
            named = {k: v for k, v in kwargs.items() if v is not None or k != "out"}
            wrong = misfit(self.name, args, named, spread=self.spread)
            if wrong is not None:
                raise wrong
        integers = tuple([i for i in numbers_among(self.name, args, kwargs) if type(values[i]) is int])
        for i in integers:
            check_width(values[i])
        if weak != key:
            if self.passing is None or len(self.passing) >= _MOST_PASSING:  # of classes that are gone, perhaps
                self.passing = set()
            self.passing.add(weak)
            return
        if places:
            self.sequences[types] = places
        if integers:
            self.integers = {**self.integers, key: integers}
            return
        if not self.fitting:
            self.fitting = set()
        self.fitting.add(key)  # type: ignore[attr-defined]


def _weakly(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a key of types, names and sets of types with weak references in place of classes that may go."""
    return tuple([frozenset(map(_held, part)) if part.__class__ is frozenset else _held(part) for part in key])


def _held(part: Any) -> Any:
    passes = isinstance(part, type) and part.__flags__ & _HEAP and str(part.__module__).partition(".")[0] != _OURS
    return ref(part) if passes else part
