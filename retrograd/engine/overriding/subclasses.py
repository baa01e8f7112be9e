"""Tensors as instances of subclasses of ``Tensor``."""

from __future__ import annotations

from typing import Any

from ..table.registry import OPS
from ..tensors.base import TensorBase, tensor_class

_NO_TENSOR = (
    "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your class "
    "inherits from Tensor."
)


def as_class(t: Any, cls: type) -> Any:
    """A fresh tensor as an instance of ``cls``."""
    if cls is not tensor_class():
        t.__class__ = cls
    return t


def as_subclass(self: Any, cls: type) -> Any:
    """The same tensor (memory, history) as an instance of ``cls``, a subclass of ``Tensor``."""
    if not (isinstance(cls, type) and issubclass(cls, tensor_class())):
        raise TypeError(_NO_TENSOR)
    return as_class(OPS["alias"](self), cls)


def no_wrapper(cls: type, *args: Any, **kwargs: Any) -> Any:
    """Refused: tensors without memory of their own need ``__torch_dispatch__``, which classes are not asked here."""
    raise NotImplementedError(
        f"{cls.__name__} cannot be made: _make_wrapper_subclass needs __torch_dispatch__, which classes are not asked "
        "here; keep the data with Tensor._make_subclass and write __torch_function__"
    )


def make_subclass(cls: type, data: Any, require_grad: bool = False) -> Any:
    """A leaf of class ``cls`` that shares the memory of ``data``."""
    if not (isinstance(cls, type) and issubclass(cls, tensor_class())):
        raise TypeError(_NO_TENSOR)
    if not isinstance(data, TensorBase):
        raise TypeError(f"_make_subclass(): argument 'data' must be Tensor, not {type(data).__name__}")
    made = as_class(data.detach(), cls)
    return made.requires_grad_() if require_grad else made
