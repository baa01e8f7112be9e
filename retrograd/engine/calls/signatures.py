"""Signatures of PyTorch's own functions: the overloads of each, and whether a value fits an argument."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..core.argument_checks import type_name_of
from ..core.base import TensorBase
from ..core.narrow import kind_of
from .out_rules import OutDtype

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
