"""Subclasses of tensors, and the tensors inside of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import late
from ..core.absent import absent
from ..core.base import TensorBase, with_array
from ..core.bits import bits_of
from ..core.dtypes import dtype as dtype_type
from ..core.dtypes import get_default_dtype
from ..core.registry import OPS
from .dispatch_classes import count, has_dispatch

# Support for wrapper subclasses: which declare their inner tensors, and whose memory results of views belong to.


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


# Tensors as instances of subclasses of `Tensor`.

_NO_TENSOR = (
    "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your class "
    "inherits from Tensor."
)


def as_class(t: Any, cls: type) -> Any:
    """A fresh tensor as an instance of ``cls``."""
    if cls is not late.tensor_class:
        if bits_of(t):
            t._array = t._array  # memory of its own, which nobody conjugates
        t.__class__ = cls
        if has_dispatch(cls):
            count(t)
    return t


def as_subclass(self: Any, cls: type) -> Any:
    """The same tensor (memory, history) as an instance of ``cls``, a subclass of ``Tensor``."""
    if not (isinstance(cls, type) and issubclass(cls, late.tensor_class)):
        raise TypeError(_NO_TENSOR)
    return as_class(OPS["alias"](self), cls)


def make_wrapper_subclass(
    cls: type, size: Sequence[int], *, strides: Sequence[int] | None = None, storage_offset: int | None = None,
    memory_format: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool = False,
    requires_grad: bool = False, dispatch_sizes_strides_policy: str | None = None, dispatch_device: bool = False,
    dispatch_layout: bool = False, storage_size: Any = None,
) -> Any:  # fmt: skip
    """A tensor of class ``cls`` that says it has this shape and dtype, but has no data: its class answers for it.

    ``TypeError`` for a class without ``__torch_dispatch__``.
    """
    if not (isinstance(cls, type) and issubclass(cls, late.tensor_class)):
        raise TypeError(_NO_TENSOR)
    if not has_dispatch(cls):
        raise TypeError(f"{cls.__name__} must define __torch_dispatch__")
    if dispatch_sizes_strides_policy is not None:
        raise NotImplementedError(
            f"dispatch_sizes_strides_policy={dispatch_sizes_strides_policy!r}: sizes and strides are not asked of the "
            "class here; give the ones that hold when the tensor is made, and leave the policy out"
        )
    kind: dtype_type = get_default_dtype() if dtype is None else dtype
    made = with_array(cls, absent(tuple(size), kind.numpy, strides, storage_offset))
    count(made)
    return made._requiring_grad() if requires_grad else made


def make_subclass(cls: type, data: Any, require_grad: bool = False, **layout: Any) -> Any:
    """A leaf of class ``cls`` that shares the memory of ``data``."""
    if not (isinstance(cls, type) and issubclass(cls, late.tensor_class)):
        raise TypeError(_NO_TENSOR)
    if not isinstance(data, TensorBase):
        raise TypeError(f"_make_subclass(): argument 'data' must be Tensor, not {type(data).__name__}")
    made = as_class(data.detach(), cls)
    return made._requiring_grad() if require_grad else made
