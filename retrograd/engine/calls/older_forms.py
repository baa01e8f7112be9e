"""Calls in the forms that PyTorch had before 1.5, which it still takes: a factor stands before what it scales.

``p.addcdiv_(-step, average, root)`` and ``g.add_(decay, p)`` stand in many optimizers that people wrote.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from ..tensors.base import TensorBase
from ..warning import warn_once


class _Family(NamedTuple):
    """Functions with the same older form: which tensors they take, and the name of the factor between them."""

    tensors: int
    factor: str
    """Of everything behind the first tensor; it stands behind it, too."""
    before: str
    """The factor of the first tensor, which stands before it (in methods, behind)."""


_FAMILIES = {
    **dict.fromkeys(("add", "sub"), _Family(2, "alpha", "")),
    **dict.fromkeys(("addcmul", "addcdiv"), _Family(3, "value", "")),
    **dict.fromkeys(("addmm", "addmv", "addr", "addbmm", "baddbmm"), _Family(3, "alpha", "beta")),
}


def _modern(family: _Family, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Arguments in the form that PyTorch prefers; ``None`` where they are not in the older one."""
    tensors = tuple([v for v in args if isinstance(v, TensorBase)])
    numbers = [v for v in args if isinstance(v, (int, float, complex))]
    if len(tensors) != family.tensors or not numbers or len(tensors) + len(numbers) != len(args):
        return None
    names = [name for name in (family.before, family.factor) if name]
    if len(numbers) > len(names) or isinstance(args[-1], (int, float, complex)):
        return None
    return tensors, dict(zip(names, numbers, strict=False))


def taking_older_forms(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """A public function that takes its older form as well, if it has one, and warns of it once."""
    family = _FAMILIES.get(name.removesuffix("_"))
    if family is None:
        return call
    usual = family.tensors

    @functools.wraps(call)
    def either(*args: Any, **kwargs: Any) -> Any:
        modern = _modern(family, args) if len(args) > usual and kwargs.keys() <= {"out"} else None
        if modern is not None:
            warn_once(
                f"This overload of {name} is deprecated: a factor is given by keyword. Consider using one of the "
                f"following signatures instead: {name}({', '.join(['Tensor'] * usual)}, *, Number {family.factor})"
            )
            args, kwargs = modern[0], {**kwargs, **modern[1]}
        return call(*args, **kwargs)

    return either
