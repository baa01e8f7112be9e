"""Attributes without effect: ``module.requires_grad = True``, and ``requires_grad`` misspelt on a parameter.

Python lets a program set any attribute, so these raise no error.  They are searched for when watching ends, and before
some backward passes: the modules of a function are freed when it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from functools import cache
from typing import Any, NamedTuple

from ..program.assignments import line_assigning
from ..program.modules import attributes_of, held_parameters, inner_modules
from ..recording.events import Event
from .base import Sink

_SWITCH = "requires_grad"
_ALIKE = 0.85


class Stray(NamedTuple):
    """One attribute, the object it was set on, its value, and the parameters that it was meant to switch."""

    name: str
    value: bool
    path: str
    """Of the module or parameter, ``model/layers/0``."""
    parameters: list[Any]


class StrayAttributes:
    """Sends an event for each such attribute of modules and parameters, once."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._reported: set[tuple[str, str, bool]] = set()
        self._runs = 0

    def run_begins(self, modules: Callable[[], list[tuple[str, Any]]]) -> None:
        """Search named modules before the 1st, 2nd, 4th, 8th, ... backward pass, for they may be freed."""
        self._runs += 1
        if not self._runs & (self._runs - 1):
            self.look(modules())

    def look(self, modules: list[tuple[str, Any]]) -> None:
        """Send an event for each attribute not yet reported."""
        for stray in strays_of(modules):
            key = (stray.path, stray.name, stray.value)
            if key not in self._reported:
                self._reported.add(key)
                known = map(self._sink.tensors.known, stray.parameters)
                data = {"path": stray.path, "value": stray.value, "inputs": [one for one in known if one is not None]}
                self._sink(Event("stray", stray.name, line_assigning(stray.name, self._sink.files()), data))


def strays_of(modules: list[tuple[str, Any]]) -> Iterator[Stray]:
    """Yield the stray attributes of named modules."""
    for root, outermost in modules:
        for dotted, module in inner_modules(outermost):
            path = "/".join([root, *dotted.split(".")]) if dotted else root
            for name, value in _switches(module):
                yield Stray(name, value, path, [parameter for _, parameter in held_parameters(module)])
        for dotted, parameter in held_parameters(outermost):
            for name, value in _switches(parameter):
                if name != _SWITCH:
                    yield Stray(name, value, f"{root}/{dotted.replace('.', '/')}", [parameter])


def _switches(holder: Any) -> Iterator[tuple[str, bool]]:
    """Yield an object's own attributes that are named like the switch of a tensor."""
    for name, value in attributes_of(holder).items():
        if isinstance(value, bool) and isinstance(name, str) and _is_equal(name):
            yield name, value


@cache
def _is_equal(name: str) -> bool:
    return abs(len(name) - len(_SWITCH)) <= 5 and SequenceMatcher(None, name, _SWITCH).ratio() >= _ALIKE
