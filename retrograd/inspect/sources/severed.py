"""Tensors whose values left the graph, followed until they reach a call that has a gradient.

``detach``, ``no_grad``, ``argmax`` and a cast to integers give results without history from operands that have one. The
result, what is computed from it, and a number from ``item`` are known by identity while they live, so that the node
that finally uses the values can be reported as having lost a gradient, and why.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..program.places import SourceLine
from ..program.signals import reraise_from_handler
from ..references import Reference

_MOST_CAUSES = 4
"""Largest number of cuts reported for one tensor: sums of many have many."""
_MOST_NUMBERS = 256
"""Numbers of the program that are kept alive to be recognised, the latest ones."""


class Severed(NamedTuple):
    """One call that cut a gradient."""

    word: str
    """``detach``, ``no_grad``, ``argmax``."""
    line: SourceLine | None
    number: int
    """Number of the node whose result it was, -1 for a leaf."""
    gated: bool = False
    """Whether it returned booleans: if the values themselves are used as well, nothing was lost."""


Causes = tuple[Severed, ...]


class Taken(NamedTuple):
    """A call that used severed values: one of its nodes, the last that is in a graph, lost a gradient."""

    first: int
    """Number of its first node."""
    causes: Causes


def address_of(tensor: Any) -> int:
    """Return the address of a tensor's first entry, 0 for one without memory of its own, such as a sparse one."""
    try:
        return int(tensor.data_ptr())
    except Exception as failure:
        reraise_from_handler(failure)
        return 0


class _Known(Reference):
    """A reference to something severed, with its key."""

    __slots__ = ("key",)
    key: Any


class SeveredTensors:
    """The severed tensors, arrays and numbers, by identity."""

    def __init__(self) -> None:
        self.known: dict[object, tuple[object, Causes]] = {}
        """By identity; arrays by the address of their memory, of which a tensor may be made unnoticed."""
        self._numbers: dict[int, None] = {}
        """Numbers of the program; they have no weak references, and while kept alive their identity is unique."""
        self._arrays = 0

    def add(self, things: Iterable[Any], causes: Causes) -> None:
        """Note the causes of results."""
        for thing in things:
            if type(thing) is float:
                self._add_number(thing, causes)
                continue
            reference = _Known(thing, self._forget)
            reference.key = id(thing)
            if hasattr(thing, "__array_interface__"):
                reference.key = "memory", thing.__array_interface__["data"][0]
                self._arrays += 1
            self.known[reference.key] = reference, causes

    def _add_number(self, value: float, causes: Causes) -> None:
        """Note the causes of a number; the oldest of many is dropped."""
        key = id(value)
        self.known[key], self._numbers[key] = (value, causes), None
        if len(self._numbers) > _MOST_NUMBERS:
            oldest = next(iter(self._numbers))
            del self._numbers[oldest], self.known[oldest]

    def _forget(self, gone: Any) -> None:
        """Remove what a dead reference referred to."""
        key = gone.key
        if self.known.get(key, _NOTHING)[0] is gone:
            del self.known[key]
        if type(key) is tuple:
            self._arrays -= 1

    def causes(self, things: Iterable[Any]) -> Causes:
        """Return what cut the gradients of these objects, each cause once."""
        known = [self.known[id(thing)][1] for thing in things if id(thing) in self.known] if self.known else []
        if self._arrays:
            keys = [("memory", address_of(thing)) for thing in things if hasattr(thing, "data_ptr")]
            known += [self.known[key][1] for key in keys if key in self.known]
        if len(known) < 2:
            return known[0] if known else ()
        return tuple({cause: None for causes in known for cause in causes})[:_MOST_CAUSES]


_NOTHING: tuple[object, Causes] = (None, ())
