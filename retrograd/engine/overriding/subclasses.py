"""Tensors as instances of subclasses of ``Tensor``."""

from __future__ import annotations

from typing import Any

from ..table.registry import OPS
from ..tensors.base import TensorBase, tensor_class


def as_class(t: Any, cls: type) -> Any:
    """A fresh tensor as an instance of ``cls``."""
    if cls is not tensor_class():
        t.__class__ = cls
    return t


def as_subclass(self: Any, cls: type) -> Any:
    """The same tensor (memory, history) as an instance of ``cls``, a subclass of ``Tensor``."""
    if not (isinstance(cls, type) and issubclass(cls, tensor_class())):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
            "class inherits from Tensor."
        )
    return as_class(OPS["alias"](self), cls)


def make_subclass(cls: type, data: Any, require_grad: bool = False) -> Any:
    """A leaf of class ``cls`` that shares the memory of ``data``."""
    if not isinstance(data, TensorBase):
        raise TypeError(f"_make_subclass(): argument 'data' must be Tensor, not {type(data).__name__}")
    made = as_class(data.detach(), cls)
    return made.requires_grad_() if require_grad else made
