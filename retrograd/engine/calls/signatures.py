"""What PyTorch's own functions take, and what it says of an argument that does not fit.

PyTorch looks at the kinds of all arguments before it computes anything; so does `argument_types`, which asks here for
every combination of types that it sees for the first time.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..tensors.argument_checks import type_name_of
from ..tensors.base import TensorBase

TABLE = Path(__file__).with_name("torch_signatures.txt")
"""One overload a line, written by `docs/make_signatures.py`: ``name(kind argument, *, kind argument=) out``.

``=``: may be left out; ``@4``: PyTorch calls it the fourth, which it is in the function within; ``int[n]``: one number
stands for all; ``out`` at the end: it has a form with ``out=``; ``exact out``: which takes no dtype but that of the
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
        return None if _fits(kind, value) else f"must be {_SPOKEN.get(kind, kind)}, not {type_name_of(value)}"


def _misfit_elements(kind: str, values: Any) -> Iterator[str]:
    element = kind.partition("[")[0]
    for i, v in enumerate(values):
        if not (v is None and element.endswith("?")) and not _fits(element.rstrip("?"), v):
            yield f"must be {_SPOKEN.get(kind, kind)}, but found element of type {type_name_of(v)} at pos {i}"


def _fits(kind: str, value: Any) -> bool:
    if kind == "Tensor":
        return isinstance(value, TensorBase)
    if kind == "bool":
        return isinstance(value, (bool, np.bool_))
    if kind == "str":
        return isinstance(value, str)
    if kind in ("int", "int[n]"):
        return not isinstance(value, bool) and hasattr(value, "__index__")
    if kind == "float":
        return isinstance(value, _NUMBERS) and not isinstance(value, complex)
    return isinstance(value, _NUMBERS) and not kind.endswith("]")


Signature = tuple[Parameter, ...]


@functools.cache
def _lines() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        name, _, rest = line.partition("(")
        found.setdefault(name, []).append(rest)
    return found


@functools.cache
def signatures(name: str, *, out: bool = False) -> tuple[Signature, ...]:
    """The overloads of a public function (``"linalg.solve"``); none where PyTorch declares it in Python.

    With ``out`` those that have a form with ``out=``.
    """
    lines = [line for line in _lines().get(name, ()) if line.endswith("out") or not out]
    if name in _NUMBERS_AS_TENSORS:
        lines = [line.replace("Tensor ", "Operand ") for line in lines]
    return tuple(tuple(_parsed(_arguments(line))) for line in lines)


def _parsed(text: str) -> Iterator[Parameter]:
    keyword_only = False
    for one in text.split(", ") if text else ():
        if one == "*":
            keyword_only = True
            continue
        kind, _, rest = one.partition(" ")
        name, _, position = rest.rstrip("=").partition("@")
        yield Parameter(name, kind, keyword_only, not rest.endswith("="), int(position) if position else None)


def takes_out(name: str) -> bool:
    """Whether PyTorch has an ``out=`` form of a function; so too where nothing is known of it."""
    return name not in _lines() or any(line.endswith("out") for line in _lines()[name])


def out_rule(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Which dtypes PyTorch takes as ``out=`` in a call of a function: ``"exact"``, ``"free"``, or ``""``."""
    lines = [line for line in _lines().get(name, ()) if line.endswith("out")]
    rules = [line.rpartition(")")[2].removesuffix("out").strip() for line in lines]
    if len(set(rules)) < 2:
        return "".join(rules[:1])
    fit = fitting([_arguments(line) for line in lines], args, kwargs)
    return "" if fit is None else rules[fit]


def fitting(overloads: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> int | None:
    """Which overload takes a call, by the texts of their arguments: of several the one with the most tensors, since a
    tensor of one element fits a number as well."""
    fit = [i for i, text in enumerate(overloads) if _complaint(tuple(_parsed(text)), args, kwargs, 1) is None]
    return max(fit, key=lambda i: overloads[i].count("Tensor"), default=None)


def _arguments(line: str) -> str:
    return line.rpartition(")")[0]


def misfit(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], *, spread: bool = True) -> TypeError | None:
    """The error that PyTorch raises for arguments of the wrong kind; ``None`` where some overload takes them.

    ``spread``: several sizes may stand in place of one list of them, as in ``x.view(2, 3)``.
    """
    overloads = signatures(name, out=kwargs.get("out") is not None)
    method = name.endswith("_") and bool(args)  # counted from what stands in the parentheses
    said = name.replace(".", "_").removeprefix("nn_functional_")
    if not takes_out(name) and kwargs.get("out") is not None:
        return TypeError(f"{said}() got an unexpected keyword argument 'out'")
    complaints = [_complaint(overload, args, kwargs, 0 if method else 1, spread) for overload in overloads]
    if not complaints or None in complaints:
        return None
    count = len(args) + len(kwargs)
    plausible = [c for c, o in zip(complaints, overloads, strict=True) if _may_take(o, count) or len(overloads) == 1]
    if len(plausible) == 1:
        return TypeError(f"{said}(){plausible[0]}")
    got = ", ".join([*map(type_name_of, args[method:]), *(f"{k}={type_name_of(v)}" for k, v in kwargs.items())])
    forms = "".join(f"\n * ({', '.join(_shown(overload))})" for overload in overloads)
    return TypeError(
        f"{said}() received an invalid combination of arguments - got ({got}), but expected one of:{forms}"
    )


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
    overloads.sort(
        key=lambda o: sum(p.kind.rstrip("?") in _NUMERIC for p in o)
    )  # tensors stay what they are if they may
    wanted = {p.name for o in overloads[:1] for p in o if p.kind.rstrip("?") in _NUMERIC}
    places = [p.name for p in overloads[0] if not p.keyword_only] if overloads else []
    found = [i for i, v in enumerate(args) if _is_number(v) and (places[i : i + 1] or [""])[0] in wanted]
    keys = [k for k, v in kwargs.items() if _is_number(v) and k in wanted]
    if not overloads and not _lines().get(name):
        found = [i for i, v in enumerate(args) if i and _is_number(v, "iu")]
        keys = [k for k, v in kwargs.items() if _is_number(v, "iu")]
    elif name.startswith("nn."):
        unjudged = {p.name for o in overloads[:1] for p in o[1:] if p.kind == "any"}
        found += [i for i, v in enumerate(args) if _is_number(v, "iu") and (places[i : i + 1] or [""])[0] in unjudged]
        keys += [k for k, v in kwargs.items() if _is_number(v, "iu") and k in unjudged]
    if not found and not keys:
        return None
    numbers = tuple([v.item() if i in found else v for i, v in enumerate(args)])
    return numbers, {k: v.item() if k in keys else v for k, v in kwargs.items()}


_NUMERIC = ("int", "int[]", "int[n]", "float", "Scalar")


def _is_number(value: Any, kinds: str = "biufc") -> bool:
    """Whether a tensor of one element may stand for a number."""
    return (
        isinstance(value, TensorBase)
        and not value._array.ndim
        and value._array.dtype.kind in kinds
        and not value.requires_grad
    )


_ALSO = {"dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1", "self"), "other": ("x2",),
         "dim0": ("axis0",), "dim1": ("axis1",)}  # fmt: skip
"""Further names that PyTorch takes for an argument, NumPy's."""

_ANYWHERE = ("out", "dtype", "layout", "device", "pin_memory", "requires_grad", "generator", "names")
"""What PyTorch adds to its functions beyond their schemas."""


def _complaint(
    overload: Signature, args: tuple[Any, ...], kwargs: dict[str, Any], first: int, spread: bool = True
) -> str | None:
    """Why an overload does not take a call, after the function's name; ``first`` is the first argument's number."""
    places = [p for p in overload if not p.keyword_only]
    if places and places[-1].kind == "int[]" and (spread or len(places) == 1):
        last = len(places) - 1
        if len(args) > last and all(_fits("int", v) for v in args[last:]):
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
