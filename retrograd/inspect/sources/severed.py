"""Tensors whose values have left the graph, followed until a call takes them that has a gradient.

``detach``, ``no_grad``, ``argmax``, a cast to integers: what comes out has no history although what went in has one.
The result, what is computed from it, and a number that ``item`` gave are known here by identity while they live, so
that the node in which the values arrive at last can be said to have lost a gradient, and by what.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..references import Reference
from ..snapshot import SourceLine

_MOST_CAUSES = 4
"""Cuts that are told of one tensor: sums of many have many."""
_MOST_NUMBERS = 256
"""Numbers of the program that are held to be recognised, the latest ones."""


class Severed(NamedTuple):
    """One call that ended a gradient."""

    word: str
    """``detach``, ``no_grad``, ``argmax``."""
    line: SourceLine | None
    number: int
    """Number of the node whose result it was, -1 of a leaf."""
    gated: bool = False
    """It gave truth values: where the values themselves go on as well, nothing was lost by it."""


Causes = tuple[Severed, ...]


class Taken(NamedTuple):
    """A call that took severed values on: one of its nodes, the last of them that is in a graph, lost a gradient."""

    first: int
    """Number of its first node."""
    causes: Causes


class SeveredTensors:
    """The tensors, arrays and numbers that are known, by identity."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Reference, Causes]] = {}
        self._numbers: dict[int, tuple[float, Causes]] = {}
        """Of numbers no weak reference can be had; one that is held has its identity alone."""
        self.memories: dict[int, tuple[Reference, Causes]] = {}
        """The same for arrays by the address of their memory, which tensors may be made of unheard."""

    def __bool__(self) -> bool:
        return bool(self._known or self._numbers or self.memories)

    def add(self, things: Iterable[Any], causes: Causes) -> None:
        """Results have these causes."""
        for thing in things:
            key = id(thing)
            if hasattr(thing, "__array_interface__"):
                key, known = thing.__array_interface__["data"][0], self.memories
            else:
                known = self._known
            if type(thing) is float:
                self._numbers[key] = thing, causes
                if len(self._numbers) > _MOST_NUMBERS:
                    del self._numbers[next(iter(self._numbers))]
            else:
                known[key] = Reference(thing, _Forgetting(known, key)), causes

    def causes(self, things: Iterable[Any]) -> Causes:
        """Return what ended the gradients of these things, each cause once."""
        found: dict[Severed, None] = {}
        for thing in things:
            known = self._known.get(id(thing)) or self._numbers.get(id(thing))
            if known is None and self.memories and hasattr(thing, "data_ptr"):
                known = self.memories.get(thing.data_ptr())
            if known is not None:
                found.update(dict.fromkeys(known[1]))
        return tuple(found)[:_MOST_CAUSES]


class _Forgetting:
    """Forgets what is known by a key when the object dies whose key it was."""

    __slots__ = ("_key", "_known")

    def __init__(self, known: dict[int, tuple[Reference, Causes]], key: int) -> None:
        self._known, self._key = known, key

    def __call__(self, gone: Reference) -> None:
        entry = self._known.get(self._key)
        if entry is not None and entry[0] is gone:
            del self._known[self._key]
