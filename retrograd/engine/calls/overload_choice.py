"""Which overload takes a call, and what PyTorch says of an argument that does not fit any.

PyTorch looks at the kinds of all arguments before it computes anything; so does `argument_types`, which asks here for
every combination of types that it sees for the first time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from ..core.argument_checks import type_names
from ..core.base import TensorBase
from ..core.narrow import kind_of
from .out_rules import OutDtype
from .signatures import Parameter, Signature, fits, is_known, out_forms, parsed, signatures, takes_out

_NUMERIC = ("int", "int[]", "int[n]", "float", "Scalar")
"""Kinds of arguments for which a tensor of one element may stand."""


def out_dtype(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> OutDtype:
    """Which dtypes PyTorch takes as ``out=`` in a call of a function."""
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
    """The error that PyTorch raises for arguments of the wrong kind; ``None`` if some overload accepts them.

    ``spread``: several sizes may stand in place of one list of them, as in ``x.view(2, 3)``.
    """
    has_out = kwargs.get("out") is not None
    overloads = signatures(name, out=has_out and takes_out(name))
    method = name.endswith("_") and bool(args)  # counted from what stands in the parentheses
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

_ANYWHERE = ("out", "dtype", "layout", "device", "pin_memory", "requires_grad", "generator", "names")
"""What PyTorch adds to its functions beyond their schemas."""


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
