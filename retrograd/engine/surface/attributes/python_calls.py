"""Applies a Python function to every element, and names types."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from ...aliasing.views import requires_grad
from ...calls.inplace import prepare_write
from ...core.base import TensorBase
from ...core.bits import assign
from ...execution.fit import is_expandable_to
from ...nodes.hooks import tensor_type_name
from ...table.public import public


def _whole(value: Any) -> int:
    """What is written of a number into a tensor of integers: nothing behind the point."""
    return int(value) if isinstance(value, float) else index(value)


def _write_each(name: str, self: Any, others: tuple[Any, ...], function: Callable[..., Any]) -> Any:
    """Write ``function(element, …)`` over each element; like PyTorch without history and without a new version."""
    if any(requires_grad(t) for t in (self, *others)):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    for other in others:
        if other._sig.numpy != self._sig.numpy:
            raise TypeError(
                f"{name}: expected {tensor_type_name(self._sig)} for 'other' (got "
                f"{tensor_type_name(other._sig)}); convert it first"
            )
    arrays = [self._array, *(_expanded(other, self._sig.shape) for other in others)]
    prepare_write(self)
    convert: Any = {"b": bool, "i": _whole, "u": _whole, "f": float, "c": complex}[self._sig.kind]
    written = np.array(arrays[0])
    for at in np.ndindex(*self._sig.shape):
        written[at] = convert(function(*[a[at].item() for a in arrays]))
    assign(self, written)
    return self


def _expanded(t: Any, shape: Any) -> Any:
    if not is_expandable_to(t._sig.shape, shape):
        raise RuntimeError(
            f"The expanded size of the tensor {list(shape)} must match the existing size {list(t._sig.shape)}"
        )
    return np.broadcast_to(t._array, shape)


@public("apply_", function=False)
def apply_(self: Any, callable: Callable[[Any], Any]) -> Any:  # noqa: A002
    """Replace each element by what a Python function makes of it; slow, meant for tensors without gradient."""
    return _write_each("apply_", self, (), callable)


@public("map_", function=False)
def map_(self: Any, tensor: Any, callable: Callable[[Any, Any], Any]) -> Any:  # noqa: A002
    """Replace each element by what a function makes of it and the same element of ``tensor``."""
    return _write_each("map_", self, (tensor,), callable)


@public("map2_", function=False)
def map2_(self: Any, x: Any, y: Any, callable: Callable[[Any, Any, Any], Any]) -> Any:  # noqa: A002
    """Replace each element by what a function makes of it and the same elements of ``x`` and ``y``."""
    return _write_each("map2_", self, (x, y), callable)


@public("typename", method=False)
def typename(obj: Any) -> str:
    """The old type name of a tensor, the qualified name of anything else."""
    if isinstance(obj, TensorBase):
        return tensor_type_name(obj._sig)
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None)
    if module in (None, "builtins"):
        return str(named.__qualname__)
    return f"{module}.{named.__qualname__}"
