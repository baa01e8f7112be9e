"""``_foreach_*``: one operator on every tensor of a list; each records as it would alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...table.public import FUNCTIONS
from ...tensors.base import TensorBase

_UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round "
    "rsqrt sigmoid sign sin sinh sqrt tan tanh trunc zero clone"
)
_BINARY = "add sub mul div pow maximum minimum clamp_max clamp_min copy"
_ONLY_IN_PLACE = ("zero", "copy")
_NEVER_IN_PLACE = ("clone",)


def _checked(name: str, tensors: Any) -> list[Any]:
    if not isinstance(tensors, (list, tuple)) or not all(isinstance(t, TensorBase) for t in tensors):
        raise TypeError(f"{name}(): argument 'self' must be tuple of Tensors, not {type(tensors).__name__}")
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    return list(tensors)


def _others(tensors: list[Any], other: Any) -> list[Any]:
    """The second operand of each tensor: one for all, or one of a list each."""
    if not isinstance(other, (list, tuple)):
        return [other] * len(tensors)
    if len(other) == len(tensors):
        return list(other)
    if other and isinstance(other[0], TensorBase):
        raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(tensors)} and {len(other)}")
    raise RuntimeError(
        f"Tensor list must have same number of elements as scalar list: got {len(tensors)} and {len(other)}."
    )


def _unary(method: str, name: str) -> Callable[..., Any]:
    def call(self: Any) -> tuple[Any, ...]:
        return tuple([getattr(t, method)() for t in _checked(name, self)])

    return call


def _binary(method: str, name: str) -> Callable[..., Any]:
    def call(self: Any, other: Any, **kwargs: Any) -> tuple[Any, ...]:
        tensors = _checked(name, self)
        return tuple([getattr(t, method)(o, **kwargs) for t, o in zip(tensors, _others(tensors, other), strict=True)])

    return call


def _publish(kind: Callable[[str, str], Callable[..., Any]], names: str) -> None:
    for name in names.split():
        methods = [name] * (name not in _ONLY_IN_PLACE) + [name + "_"] * (name not in _NEVER_IN_PLACE)
        for method in methods:
            made = kind(method, "_foreach_" + method)
            made.__name__ = made.__qualname__ = "_foreach_" + method
            made.__doc__ = f"``{method}`` of every tensor of a list."
            FUNCTIONS[made.__name__] = made


def _foreach_norm(self: Any, ord: Any = 2, dtype: Any = None) -> tuple[Any, ...]:  # noqa: A002
    """The vector norm of every tensor of a list."""
    return tuple([t.norm(ord, dtype=dtype) for t in _checked("_foreach_norm", self)])


FUNCTIONS["_foreach_norm"] = _foreach_norm
_publish(_unary, _UNARY)
_publish(_binary, _BINARY)
