"""Support for wrapper subclasses: which declare their inner tensors, and whose memory results of views belong to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import late
from ..core.base import TensorBase


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether instances of a class can be taken apart (``__tensor_flatten__``) and put together again."""
    return (
        issubclass(t, TensorBase)
        and t is not late.tensor_class
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def is_traceable_wrapper_subclass(t: object) -> bool:
    """The same, asked of an instance."""
    return is_traceable_wrapper_subclass_type(type(t))


def transform_subclass(
    t: Any, callback: Callable[[str, Any], Any], outer_size: Any = None, outer_stride: Any = None
) -> Any:
    """A tensor like ``t`` around ``callback(name, inner)`` for each of its inner tensors.

    ``AssertionError`` if the class makes something of another shape, stride or class.
    """
    outer_size = t.size() if outer_size is None else outer_size
    outer_stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    made = type(t).__tensor_unflatten__(
        {name: callback(name, getattr(t, name)) for name in names}, context, outer_size, outer_stride
    )
    assert made.shape == outer_size, f"Expected return value from {type(t)}__tensor_unflatten__() to have shape equal"
    assert made.stride() == tuple(outer_stride), f"{type(t)}__tensor_unflatten__() returned another stride"
    return made


def return_and_correct_aliasing(func: Any, args: tuple[Any, ...], kwargs: Any, out: Any) -> Any:
    """What a ``__torch_dispatch__`` should return that computed ``out``: an operator that writes returns what it wrote.

    Results of views are connected to what they view by autograd, so they are returned as they are.
    """
    return args[0] if func.overloadpacket.__name__.endswith("_") else out
