"""Tensors without memory made by ``device='meta'``, by a block ``with device('meta')`` or as the default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..aliasing.memory_formats import strides_in, strides_like
from ..calls import wrappers
from ..core import devices
from ..core.base import TensorBase
from ..core.layouts import preserve_format
from ..ops.creation.functions.creating import numpy_of, sizes_of
from ..overriding.wrappers import say_where_they_are, when_loaded
from ..switches.state import STATE
from ..table.public import FUNCTIONS
from ..tensors.convert import array_from
from .tensor import NO_DATA, MetaTensor

Made = tuple[Any, ...]
"""Shape, NumPy's dtype and perhaps strides of what a call makes."""


def _sized(*size: Any, dtype: Any = None, memory_format: Any = None, **how: Any) -> Made:
    sizes = sizes_of((how["size"],) if "size" in how else size)
    formatted = memory_format is not None and memory_format != preserve_format
    return sizes, numpy_of(dtype), strides_in(sizes, memory_format) if formatted else None


def _full(size: Any, fill_value: Any, dtype: Any = None, **how: Any) -> Made:
    return sizes_of((size,)), numpy_of(dtype, array_from(fill_value).dtype)


def _integers(low: Any = 0, high: Any = None, size: Any = None, dtype: Any = None, **how: Any) -> Made:
    size = high if size is None else size  # randint(high, size)
    return sizes_of((size,)), numpy_of(dtype, np.dtype(np.int64))


def _permutation(n: int, dtype: Any = None, **how: Any) -> Made:
    return sizes_of((n,)), numpy_of(dtype, np.dtype(np.int64))


def _strided(size: Any, stride: Any, dtype: Any = None, **how: Any) -> Made:
    return tuple(size), numpy_of(dtype), tuple(stride)


def _like(input: Any, *args: Any, dtype: Any = None, memory_format: Any = None, **how: Any) -> Made:  # noqa: A002
    return tuple(input.shape), numpy_of(dtype, input._sig.numpy), strides_like(input._array, memory_format)


def _new(self: Any, *size: Any, dtype: Any = None, **how: Any) -> Made:
    return sizes_of((how["size"],) if "size" in how else size), numpy_of(dtype, self._sig.numpy)


def _new_strided(self: Any, size: Any, stride: Any, dtype: Any = None, **how: Any) -> Made:
    return tuple(size), numpy_of(dtype, self._sig.numpy), tuple(stride)


def _new_full(self: Any, size: Any, fill_value: Any, dtype: Any = None, **how: Any) -> Made:
    return sizes_of((size,)), numpy_of(dtype, self._sig.numpy)


_RULES: Final[dict[str, Callable[..., Made]]] = {
    **dict.fromkeys(("empty", "zeros", "ones", "rand", "randn"), _sized),
    **dict.fromkeys(
        ("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like"), _like
    ),
    **dict.fromkeys(("new_empty", "new_zeros", "new_ones"), _new),
    "full": _full, "randint": _integers, "randperm": _permutation, "empty_strided": _strided, "new_full": _new_full,
    "new_empty_strided": _new_strided,
}  # fmt: skip
"""How large the result of a function is; that of any other is made, and its values are dropped."""
_BY_DEFAULT: Final = (
    "empty", "zeros", "ones", "rand", "randn", "full", "randint", "randperm", "empty_strided", "tensor", "arange",
    "linspace", "logspace", "eye", "as_tensor", "normal", "tril_indices", "triu_indices", "complex", "polar",
)  # fmt: skip
"""Functions that ask for the default device where none is given."""


def created(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function makes on the device that it is given, else on that of its first operand, which has no memory."""
    where = kwargs.get("device")
    if where is None or devices.is_meta(where):
        return without_memory(name, function, args, kwargs)
    first = args[0]
    named = {key: value for key, value in kwargs.items() if key not in ("device", "pin_memory")}
    named.setdefault("dtype", first.dtype)
    if name.startswith("new_"):
        return FUNCTIONS[name.removeprefix("new_")](*args[1:], **named)
    named.pop("memory_format", None)
    return FUNCTIONS[name.removesuffix("_like")](tuple(first.shape), *args[1:], **named)


def without_memory(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a function that makes tensors, without memory; no random numbers are drawn."""
    requires_grad = bool(kwargs.get("requires_grad", False))
    rule = _RULES.get(name)
    if rule is not None:
        return MetaTensor.made(*rule(*args, **kwargs), requires_grad=requires_grad)  # type: ignore[misc]
    named = {key: value for key, value in kwargs.items() if key not in ("device", "requires_grad", "pin_memory")}
    made = function(*args, **named)
    if not isinstance(made, TensorBase) or isinstance(made, MetaTensor):
        return made
    return MetaTensor.made(made.shape, made._sig.numpy, made.stride(), requires_grad=requires_grad)


def moved(t: Any, numpy: Any) -> Any:
    """A tensor as one without memory; ``NotImplementedError`` for the way back."""
    if isinstance(t, MetaTensor):
        raise NotImplementedError(
            f"{NO_DATA} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving module from "
            "meta to a different device."
        )
    return MetaTensor.made(t.shape, numpy, strides_like(t._array, None))


# -- the default device


def _asking(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` on the default device where it is given none."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if STATE.device is None or kwargs.get("device") is not None or kwargs.get("out") is not None:
            return function(*args, **kwargs)
        if name == "as_tensor" and args and isinstance(args[0], TensorBase):
            return function(*args, **kwargs)
        return without_memory(name, function, args, kwargs)

    call.__name__ = name
    call.__doc__ = function.__doc__
    call.__wrapped__ = function  # type: ignore[attr-defined]  # recordings name a call by the function's own code
    return call


_installed = False


def install() -> None:
    """Let public functions ask for the default device; called when there is another one for the first time."""
    global _installed
    if _installed:
        return
    _installed = True
    for name in _BY_DEFAULT:
        FUNCTIONS[name] = _asking(name, FUNCTIONS[name])
    when_loaded("torch", _install_in)


def _install_in(functions: dict[str, Any]) -> None:
    for name in _BY_DEFAULT:
        functions[name] = _asking(name, functions[name])
    say_where_they_are(functions, list(_BY_DEFAULT))


wrappers.without_memory = without_memory
devices.move = moved
devices.on_other_default = install
