"""Deprecated call forms from before PyTorch 1.5, still accepted: a factor precedes what it scales.

Many handwritten optimizers contain ``p.addcdiv_(-step, average, root)`` and ``g.add_(decay, p)``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.argument_checks import type_names
from ..core.base import TensorBase
from ..warning import warn_once

_FAMILIES = {
    **dict.fromkeys(("add", "sub"), ("input alpha other",)),
    **dict.fromkeys(("addcmul", "addcdiv"), ("input value tensor1 tensor2",)),
    **{
        name: (f"beta input alpha {operands}", f"beta input {operands}")
        for name, operands in {
            "addmm": "mat1 mat2", "addmv": "mat vec", "addr": "vec1 vec2", "addbmm": "batch1 batch2",
            "baddbmm": "batch1 batch2",
        }.items()
    },
}  # fmt: skip
"""Argument order of the older forms of functions.  In methods ``input`` comes first."""
_FACTORS = ("alpha", "beta", "value")
_NUMBERS = (int, float, complex, np.number)


def has_own_method_form(name: str) -> bool:
    """Whether the older form of a function has other places as a method."""
    return not _FAMILIES.get(name, ("input",))[0].startswith("input")


def _fits(name: str, value: Any, numbers: bool) -> bool:
    """Whether a factor is a number or a 0-d tensor without gradient, an operand a tensor (or one of ``numbers``)."""
    if name not in _FACTORS:
        return isinstance(value, TensorBase) or (numbers and isinstance(value, _NUMBERS))
    if isinstance(value, TensorBase):
        return not value.ndim and not value.requires_grad
    return isinstance(value, _NUMBERS)


def _modern(form: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Arguments in the form that PyTorch prefers; ``None`` where they are not in this older one."""
    named = form[len(args) :]
    if len(args) > len(form) or any(name not in kwargs for name in named):
        return None
    given = {**dict(zip(form, args, strict=False)), **{name: kwargs[name] for name in named}}
    others = {name: value for name, value in kwargs.items() if name not in named}
    numbers = "other" in form
    if not others.keys() <= {"out"} or not all(_fits(name, value, numbers) for name, value in given.items()):
        return None
    for name in _FACTORS:
        if name in given:
            factor = given.pop(name)
            others[name] = factor.item() if isinstance(factor, TensorBase) else factor
    return tuple(given.values()), others


def taking_older_forms(name: str, call: Callable[..., Any], *, method: bool = False) -> Callable[..., Any]:
    """A public function (or method) that takes its older form as well, if it has one, and warns of it once."""
    family = _FAMILIES.get(name.removesuffix("_"))
    if family is None:
        return call
    forms = [form.split() for form in family]
    if method:
        forms = [["input", *(place for place in form if place != "input")] for form in forms]
    operands = [place for place in forms[0] if place not in _FACTORS]
    usual, factor = len(operands), "value" if "value" in forms[0] else "alpha"

    @functools.wraps(call)
    def either(*args: Any, **kwargs: Any) -> Any:
        given = len(args) + sum([operand in kwargs for operand in operands]) if kwargs else len(args)
        if given <= usual:
            return call(*args, **kwargs)
        modern = next((found for form in forms if (found := _modern(form, args, kwargs)) is not None), None)
        if modern is not None:
            warn_once(
                f"This overload of {name} is deprecated: a factor is given by keyword. Consider using one of the "
                f"following signatures instead: {name}({', '.join(['Tensor'] * usual)}, *, Number {factor})"
            )
            args, kwargs = modern
        elif all(isinstance(value, (TensorBase, *_NUMBERS)) for value in args):
            got = type_names(args, kwargs)
            raise TypeError(f"{name}() received an invalid combination of arguments - got ({got})")
        return call(*args, **kwargs)

    return either
