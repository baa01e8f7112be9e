"""Calls of custom Functions, kept so that they can be repeated when the program is over.

A kept call holds copies: none of the program's tensors, no node, and its class only weakly.  Few are kept, the first
calls of each Function and a later one (weights that begin as ones hide a forgotten factor), and large inputs are
cropped; a call is not kept if its arguments could hide a tensor (modules, closures, objects).
"""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from ..references import Reference

Array = np.ndarray[Any, Any]

PER_FUNCTION = 3
"""Calls of one Function that are kept, each with another signature."""
MOST = 60
"""Calls kept of one recording."""
LARGEST = 30_000
"""Entries of all tensors of one call; so 60 of them take at most 15 MB."""
_CAPS = (256, 128, 64, 32, 16, 8, 4, 2, 1)
_DEPTH = 4
_ATOMS = (type(None), bool, int, float, complex, str, bytes, slice, range, type(...), type, Enum, np.generic)
_ENGINE_ATOMS = frozenset({"dtype", "device", "layout", "memory_format"})


class Seen(NamedTuple):
    """A description of a tensor argument; ``copy`` copies a part of it."""

    shape: tuple[int, ...]
    dtype: str
    requires_grad: bool
    copy: Callable[[tuple[slice, ...]], Array]


class Held(NamedTuple):
    """A tensor argument of a kept call."""

    array: Array
    requires_grad: bool

    @property
    def varied(self) -> bool:
        """Whether there can be a derivative with respect to it."""
        return self.requires_grad and self.array.dtype.kind in "fc" and bool(self.array.size)


@dataclass(frozen=True, slots=True)
class KeptCall:
    """One call of a Function."""

    engine: str
    function: Reference
    args: tuple[Any, ...]
    """The arguments, with tensors as ``Held``."""
    kwargs: Mapping[str, Any]

    @property
    def varied(self) -> list[int]:
        """Positions of the arguments with respect to which there can be a derivative."""
        return [place for place, one in enumerate(self.args) if isinstance(one, Held) and one.varied]


class _Unfit(Exception):
    """An argument that cannot be kept."""


@dataclass(slots=True)
class KeptCalls:
    """The kept calls of one recording."""

    _first: list[KeptCall] = field(default_factory=list)
    _later: dict[tuple[str, str], KeptCall] = field(default_factory=dict)
    """For each Function the last of its second, fourth, eighth call and so on."""
    _signatures: dict[tuple[str, str], set[Any]] = field(default_factory=dict)
    _offered: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def calls(self) -> list[KeptCall]:
        """All of them, first calls first."""
        return [*self._first, *self._later.values()]

    def clear(self) -> None:
        """Drop all calls."""
        self._first.clear()
        self._later.clear()

    def engines(self) -> set[str]:
        """Return the names of the engines whose calls were kept."""
        return {kept_call.engine for kept_call in self.calls}

    def offer(
        self, engine: str, cls: Any, arguments: tuple[Sequence[Any], Mapping[str, Any]], see: Callable[[Any], Any]
    ) -> None:
        """Keep a call that is about to be made, if its signature is new.

        ``see`` returns a ``Seen`` for a tensor, None for other objects, and raises for a tensor that cannot be read.
        """
        place = cls.__module__, cls.__qualname__
        known = self._signatures.setdefault(place, set())
        self._offered[place] += 1
        number = self._offered[place]
        late = number > 1 and number & (number - 1) == 0
        if len(self._first) + len(self._later) >= MOST or (len(known) >= PER_FUNCTION and not late):
            return
        args, kwargs = arguments
        try:
            signature = (_signature(args, see, 0), _signature(kwargs, see, 0))
            if signature in known and not late:
                return
            first = signature not in known and len(known) < PER_FUNCTION
            known.update([signature] if first else ())
            if not any(one is not None and one.requires_grad for one in map(see, args)):
                return
            taker = _Taker(see, [*args, *kwargs.values()])
            taken = tuple(taker.take(one) for one in args)
            by_name = {name: taker.take(one) for name, one in kwargs.items()}
        except (_Unfit, TypeError):
            return
        kept_call = KeptCall(engine, Reference(cls), taken, by_name)
        if first:
            self._first.append(kept_call)
        else:
            self._later[place] = kept_call


def _signature(value: Any, see: Callable[[Any], Any], depth: int) -> Any:
    """Return the key of a call: shapes and dtypes, and the types of everything else."""
    seen = see(value)
    if seen is not None:
        return seen[:3]
    if depth > _DEPTH:
        raise _Unfit
    if isinstance(value, Mapping):
        return tuple((str(key), _signature(one, see, depth + 1)) for key, one in value.items())
    if isinstance(value, (tuple, list)):
        return tuple(_signature(one, see, depth + 1) for one in value)
    return value if isinstance(value, (bool, str)) else type(value)


class _Taker:
    """Copies the arguments of one call, cropped if they are large."""

    def __init__(self, see: Callable[[Any], Any], values: Sequence[Any]) -> None:
        self._see = see
        shapes = _shapes(values, see)
        self._cap = _cap(shapes)
        self._cut = set() if self._cap is None else {size for shape in shapes for size in shape if size > self._cap}

    def take(self, value: Any, depth: int = 0) -> Any:
        """Return a copy that holds nothing of the program; raises ``_Unfit`` if that is impossible."""
        seen = self._see(value)
        if seen is not None:
            return Held(self._indices(seen.copy(self._piece(seen.shape))), seen.requires_grad)
        if isinstance(value, np.ndarray) and value.dtype != object:
            return self._indices(value[self._piece(value.shape)].copy())
        if isinstance(value, (list, tuple, set, frozenset, dict)):
            return self._container(value, depth)
        if self._cap is not None and type(value) is int and value in self._cut:
            return self._cap  # a size that was cut down in the tensors as well
        if isinstance(value, _ATOMS) or type(value).__name__ in _ENGINE_ATOMS or _is_plain_function(value):
            return value
        raise _Unfit

    def _container(self, value: Any, depth: int) -> Any:
        if depth > _DEPTH or len(value) > LARGEST:
            raise _Unfit
        if isinstance(value, dict):
            return {key: self.take(one, depth + 1) for key, one in value.items()}
        entries = [self.take(one, depth + 1) for one in value]
        if type(value) in (list, set, frozenset):
            return type(value)(entries)
        return type(value)(*entries) if hasattr(value, "_fields") else tuple(entries)

    def _piece(self, shape: Sequence[int]) -> tuple[slice, ...]:
        return tuple(slice(None) if self._cap is None else slice(self._cap) for _ in shape)

    def _indices(self, array: Array) -> Array:
        """Keep integers that may be indices within what was cropped."""
        if self._cap is None or array.dtype.kind not in "iu" or not array.size or array.min() < 0:
            return array
        return array % np.asarray(self._cap, array.dtype) if array.max() >= self._cap else array


def _shapes(values: Sequence[Any], see: Callable[[Any], Any]) -> list[tuple[int, ...]]:
    """Return the shapes of all tensors and arrays, including those in lists."""
    found: list[tuple[int, ...]] = []
    todo = [(one, 0) for one in values]
    while todo:
        value, depth = todo.pop()
        seen = see(value)
        if seen is not None or isinstance(value, np.ndarray):
            found.append(tuple(value.shape))
        elif isinstance(value, (list, tuple, dict)) and depth <= _DEPTH:
            todo.extend((one, depth + 1) for one in (value.values() if isinstance(value, dict) else value))
    return found


def _cap(shapes: Sequence[tuple[int, ...]]) -> int | None:
    """Return the length to which every dimension is cropped, None if everything fits."""
    for cap in (None, *_CAPS):
        entries = sum(float(np.prod([size if cap is None else min(size, cap) for size in one])) for one in shapes)
        if entries <= LARGEST:
            return cap
    raise _Unfit


def _is_plain_function(value: Any) -> bool:
    """Whether a callable holds only what its module holds."""
    if isinstance(value, types.FunctionType):
        return value.__closure__ is None and not value.__defaults__
    return isinstance(value, types.BuiltinFunctionType) and isinstance(value.__self__, (types.ModuleType, type(None)))
