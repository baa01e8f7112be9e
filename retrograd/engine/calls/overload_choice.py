"""Finds the PyTorch signature that a call fits: signatures are in a table, and judged by the types of arguments."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np

from ..core.argument_checks import check_width, type_name_of, type_names
from ..core.base import TensorBase
from ..core.narrow import kind_of
from .out_argument import OutDtype

# Signatures of PyTorch's own functions: the overloads of each, and whether a value fits an argument.

TABLE = Path(__file__).with_name("torch_signatures.txt")
"""One overload a line, written by `docs/make_signatures.py`: ``name(kind argument, *, kind argument=) out``.

``=``: may be left out; ``@4``: PyTorch calls it the fourth, which it is in the function within; ``int[n]``: one number
is valid for all; ``out`` at the end: it has a form with ``out=``; ``exact out``: which takes no dtype but that of the
result; ``free out``: which takes any.
"""
_NUMBERS_AS_TENSORS = frozenset(
    ("add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide")
    + ("add_", "sub_", "mul_", "div_", "floor_divide_")
)
"""Functions that take numbers for all their tensors."""
_SPOKEN = {
    "Operand": "Tensor",
    "int[]": "tuple of ints",
    "int[n]": "tuple of ints",
    "Tensor[]": "tuple of Tensors",
    "Scalar": "Number",
    "float[]": "tuple of floats",
}
_NUMBERS = (int, float, complex, np.number, np.bool_, TensorBase)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of one overload."""

    name: str
    kind: str
    """``Tensor``, ``int``, ``int[]`` and so on, with ``?`` where ``None`` is taken; ``any`` where it is not judged."""
    keyword_only: bool
    required: bool
    position: int | None = None
    """Its number in PyTorch's message, where that is not its place here."""

    def misfit(self, value: Any) -> str | None:
        """What is wrong with a value for this argument, as the end of a sentence; ``None`` where it fits."""
        optional, kind = self.kind.endswith("?"), self.kind.rstrip("?")
        if kind == "any" or (value is None and optional):
            return None
        if kind.endswith("]") and isinstance(value, (list, tuple)):
            return next(_misfit_elements(kind, value), None)
        return None if fits(kind, value) else f"must be {_SPOKEN.get(kind, kind)}, not {type_name_of(value)}"


def _misfit_elements(kind: str, values: Any) -> Iterator[str]:
    element = kind.partition("[")[0]
    for i, v in enumerate(values):
        if not (v is None and element.endswith("?")) and not fits(element.rstrip("?"), v):
            yield f"must be {_SPOKEN.get(kind, kind)}, but found element of type {type_name_of(v)} at pos {i}"


def fits(kind: str, value: Any) -> bool:
    """Whether a value is of a kind of argument."""
    if kind == "Tensor":
        return isinstance(value, TensorBase)
    if kind == "bool":
        return isinstance(value, (bool, np.bool_))
    if kind == "str":
        return isinstance(value, str)
    if kind in ("int", "int[n]"):
        if isinstance(value, TensorBase):
            return value._array.size == 1 and kind_of(value._array.dtype) in "iu"
        return not isinstance(value, bool) and hasattr(value, "__index__")
    if kind == "float":
        return isinstance(value, _NUMBERS) and not isinstance(value, complex)
    return isinstance(value, _NUMBERS) and not kind.endswith("]")


Signature = tuple[Parameter, ...]


@functools.cache
def _lines() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        name, _, rest = line.partition("(")
        found.setdefault(name, []).append(rest)
    return {name: tuple(lines) for name, lines in found.items()}  # tuples of words are no work for the collector


@functools.cache
def signatures(name: str, *, out: bool = False) -> tuple[Signature, ...]:
    """The overloads of a public function (``"linalg.solve"``); none where PyTorch declares it in Python.

    With ``out`` those that have a form with ``out=``.
    """
    lines = [line for line in _lines().get(name, ()) if line.endswith("out") or not out]
    if name in _NUMBERS_AS_TENSORS:
        lines = [line.replace("Tensor ", "Operand ") for line in lines]
    return tuple(parsed(line.rpartition(")")[0]) for line in lines)


def parsed(text: str) -> Signature:
    """The overload declared by a text."""
    positional, _, keywords = text.partition("*, ")
    return (*_parameters(positional, keyword_only=False), *_parameters(keywords, keyword_only=True))


def _parameters(text: str, *, keyword_only: bool) -> Iterator[Parameter]:
    for one in filter(None, text.split(", ")):
        kind, _, rest = one.partition(" ")
        name, _, position = rest.rstrip("=").partition("@")
        yield Parameter(name, kind, keyword_only, not rest.endswith("="), int(position) if position else None)


def is_known(name: str) -> bool:
    """Whether there are overloads of a function: not where PyTorch declares it in Python."""
    return name in _lines()


def takes_out(name: str) -> bool:
    """Whether PyTorch has an ``out=`` form of a function; so too where nothing is known of it."""
    return not is_known(name) or any(line.endswith("out") for line in _lines()[name])


def out_forms(name: str) -> tuple[list[str], list[OutDtype]]:
    """The arguments of the overloads with ``out=``, as texts, and which dtypes each takes there."""
    lines = [line.rpartition(")") for line in _lines().get(name, ()) if line.endswith("out")]
    return [arguments for arguments, _, _ in lines], [
        OutDtype(rule.removesuffix("out").strip()) for _, _, rule in lines
    ]


# Which overload takes a call, and what PyTorch says of an argument that does not fit any.

_NUMERIC = ("int", "int[]", "int[n]", "float", "Scalar")
"""Kinds of arguments for which a tensor of one element is accepted."""


def out_dtype(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> OutDtype:
    """The dtypes that PyTorch accepts for ``out=`` in a call of a function."""
    overloads, rules = out_forms(name)
    if len(set(rules)) < 2:
        return rules[0] if rules else OutDtype.CASTABLE
    fit = fitting(overloads, args, kwargs)
    return OutDtype.CASTABLE if fit is None else rules[fit]


def fitting(overloads: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> int | None:
    """Which overload takes a call, by the texts of their arguments: of several the one with the most tensors, since a
    tensor of one element fits a number as well."""
    fit = [i for i, text in enumerate(overloads) if _complaint(parsed(text), args, kwargs, 1) is None]
    return max(fit, key=lambda i: overloads[i].count("Tensor"), default=None)


def misfit(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], *, spread: bool = True) -> TypeError | None:
    """Why a value does not fit this argument, as the end of a sentence; ``None`` if it fits.

    ``spread``: several sizes may be passed in place of one list of them, as in ``x.view(2, 3)``.
    """
    has_out = kwargs.get("out") is not None
    overloads = signatures(name, out=has_out and takes_out(name))
    method = name.endswith("_") and bool(args)  # counted from the arguments in parentheses
    said = name.replace(".", "_").removeprefix("nn_functional_")
    complaints = [_complaint(overload, args, kwargs, 0 if method else 1, spread) for overload in overloads]
    if has_out and not takes_out(name):
        complaints = [c or " got an unexpected keyword argument 'out'" for c in complaints]
    if not complaints or None in complaints:
        return None
    count = len(args) + len(kwargs)
    plausible = [c for c, o in zip(complaints, overloads, strict=True) if _may_take(o, count) or len(overloads) == 1]
    if len(plausible) == 1:
        return TypeError(f"{said}(){plausible[0]}")
    got = type_names(args[method:], kwargs)
    forms = "".join(f"\n * ({', '.join(_shown(overload))})" for overload in overloads)
    return TypeError(
        f"{said}() received an invalid combination of arguments - got ({got}), but expected one of:{forms}"
    )


def numbers_among(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int]:
    """Indices of the arguments (keywords last) where an overload takes a number."""
    overloads = signatures(name)
    placed = {i for o in overloads for i, p in enumerate(o) if _is_scalar(p) and not p.keyword_only}
    named = {p.name for o in overloads for p in o if _is_scalar(p)}
    found = [i for i in range(len(args)) if i in placed]
    return [*found, *[len(args) + k for k, key in enumerate(kwargs) if key in named]]


def _is_scalar(parameter: Parameter) -> bool:
    return parameter.kind.rstrip("?") == "Scalar"


def _may_take(overload: Signature, count: int) -> bool:
    """Whether a call with so many arguments may have meant an overload."""
    return sum(p.required for p in overload) <= count <= len(overload) + 1


def _shown(overload: Signature) -> Iterator[str]:
    keywords = False
    for p in overload:
        if p.keyword_only and not keywords:
            keywords = True
            yield "*"
        yield f"{p.kind.replace('any', p.name)} {p.name}"


def numbers_for_tensors(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """A call with numbers where PyTorch wants numbers and got tensors of one element; ``None`` if there are none.

    Where PyTorch declares a function in Python, whole numbers after the first argument count as such.
    """
    overloads = [o for o in signatures(name) if _complaint(o, args, kwargs, 1) is None]
    if overloads:
        chosen = min(overloads, key=lambda o: sum(_is_numeric(p.kind) for p in o))  # tensors stay tensors if they may
        named = _kinds_of_numbers(chosen, in_python=name.startswith("nn."))
        placed = [named.get(p.name, "") for p in chosen if not p.keyword_only]
    elif is_known(name):
        return None
    else:
        named, placed = dict.fromkeys(kwargs, "iu"), ["", *["iu"] * len(args)]
    kinds = itertools.chain(placed, itertools.repeat(""))
    numbers = tuple([v.item() if _is_number(v, wanted) else v for v, wanted in zip(args, kinds, strict=False)])
    keywords = {key: v.item() if _is_number(v, named.get(key, "")) else v for key, v in kwargs.items()}
    changed = any(n is not v for n, v in zip((*numbers, *keywords.values()), (*args, *kwargs.values()), strict=True))
    return (numbers, keywords) if changed else None


def _kinds_of_numbers(overload: Signature, *, in_python: bool) -> dict[str, str]:
    """Which numbers arguments take, as letters for dtypes; what layers leave to Python takes whole ones."""
    unjudged = [p.name for p in overload[1:] if p.kind == "any"] if in_python else []
    return {**dict.fromkeys(unjudged, "iu"), **{p.name: "biufc" for p in overload if _is_numeric(p.kind)}}


def _is_numeric(kind: str) -> bool:
    return kind.rstrip("?") in _NUMERIC


def _is_number(value: Any, kinds: str) -> bool:
    """Whether a tensor of one element may be used as a number; ``kinds`` are NumPy's letters for its dtype."""
    return (
        isinstance(value, TensorBase)
        and not value._array.ndim
        and kind_of(value._array.dtype) in kinds
        and not value.requires_grad
    )


_ALSO = {"dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1", "self"), "other": ("x2",),
         "dim0": ("axis0",), "dim1": ("axis1",)}  # fmt: skip
"""Further names that PyTorch takes for an argument, NumPy's."""

_ANYWHERE = ("out", "dtype", "layout", "device", "pin_memory", "requires_grad", "generator")
"""Arguments that PyTorch adds to its functions beyond their schemas."""


def _complaint(
    overload: Signature, args: tuple[Any, ...], kwargs: dict[str, Any], first: int, spread: bool = True
) -> str | None:
    """Why an overload does not take a call, after the function's name; ``first`` is the first argument's number."""
    places = [p for p in overload if not p.keyword_only]
    if places and places[-1].kind == "int[]" and (spread or len(places) == 1):
        last = len(places) - 1
        if len(args) > last and all(fits("int", v) for v in args[last:]):
            args = (*args[:last], args[last:])
    if len(args) > len(places):
        return f" takes {len(places)} positional argument{'s'[: len(places) != 1]} but {len(args)} were given"
    left = dict(kwargs)
    for i, p in enumerate(overload):
        if i < len(args) and not p.keyword_only:
            value = args[i]
        else:
            key = next((k for k in (p.name, *_ALSO.get(p.name, ())) if k in left), None)
            if key is None:
                if p.required:
                    return f' missing 1 required positional arguments: "{p.name}"'
                continue
            value = left.pop(key)
        wrong = p.misfit(value)
        if wrong is not None:
            return f": argument '{p.name}' {'' if p.keyword_only else f'(position {p.position or i + first}) '}{wrong}"
    unknown = next((k for k in left if k not in _ANYWHERE), None)
    return None if unknown is None else f" got an unexpected keyword argument '{unknown}'"


# Checks the types of arguments before a call: PyTorch refuses wrong types before it computes anything.

_HEAP = 1 << 9
"""``Py_TPFLAGS_HEAPTYPE``: the class was made while Python runs."""
_OURS = __name__.partition(".")[0]
_MOST_PASSING = 256
_NOTHING: frozenset[Any] = frozenset()
_NOWHERE: Mapping[Any, tuple[int, ...]] = {}


class KindCheck:
    """Raises ``TypeError`` in torch's words for arguments of the wrong kind to one public function.

    ``spread``: several sizes may be passed in place of one list of them, as in ``x.view(2, 3)``.

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
        """Positions of integers passed as numbers, for types of arguments that fit unless they are too large."""
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
