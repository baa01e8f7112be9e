"""Kinds of arguments, looked at before a call: PyTorch refuses what does not fit before it computes anything.

NumPy would take many of them: a fraction or a truth value for a size, a tuple for a dimension, a word for a flag.
Whether arguments fit depends on their types alone, so the types of calls that fitted are remembered; a check of a known
call takes 0.4 µs, with keywords or a list among the arguments 0.6 to 1.3.  Classes that a program makes are remembered
by weak references: a class holds its methods, and those hold everything that the program has at its top level.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

from .overload_choice import misfit
from .signatures import signatures

Check = Callable[[tuple[Any, ...], dict[str, Any]], None]
_HEAP = 1 << 9
"""``Py_TPFLAGS_HEAPTYPE``: the class was made while Python runs."""
_OURS = __name__.partition(".")[0] + "."
_MOST_PASSING = 256


def kind_check(name: str, fitting: set[Any] | None = None, *, spread: bool = False) -> Check:
    """A function that raises ``TypeError`` in torch's words for arguments of the wrong kind to a public function.

    ``fitting`` is filled with the types of positional arguments that fit, so that a caller may look there first.
    ``spread``: several sizes may stand in place of one list of them, as in ``x.view(2, 3)``.
    """
    fitting = set() if fitting is None else fitting
    sequences: dict[Any, tuple[int, ...]] = {}  # where lists and tuples stand: the types of their elements count, too
    passing: set[Any] = set()  # what fits of classes that may go

    def check(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        values = (*args, *kwargs.values()) if kwargs else args
        types = (*map(type, values), *kwargs) if kwargs else tuple(map(type, args))
        if types in fitting:
            return
        key = types
        for i in sequences.get(types, ()):
            key += (frozenset(map(type, values[i])),)
        if key not in fitting:
            look(args, kwargs, types)

    def look(args: tuple[Any, ...], kwargs: dict[str, Any], types: tuple[Any, ...]) -> None:
        values = (*args, *kwargs.values())
        places = tuple([i for i, v in enumerate(values) if isinstance(v, (tuple, list))])
        key = (*types, *[frozenset(map(type, values[i])) for i in places])
        weak = _weakly(key)
        if weak in passing:
            return
        if signatures(name):
            named = {k: v for k, v in kwargs.items() if v is not None or k != "out"}
            wrong = misfit(name, args, named, spread=spread)
            if wrong is not None:
                raise wrong
        if weak != key:
            if len(passing) >= _MOST_PASSING:  # of classes that are gone, perhaps
                passing.clear()
            passing.add(weak)
            return
        if places:
            sequences[types] = places
        fitting.add(key)

    return check


def _weakly(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a key of types, names and sets of types with weak references in place of classes that may go."""
    return tuple([frozenset(map(_held, part)) if part.__class__ is frozenset else _held(part) for part in key])


def _held(part: Any) -> Any:
    passes = isinstance(part, type) and part.__flags__ & _HEAP and not str(part.__module__).startswith(_OURS)
    return ref(part) if passes else part
