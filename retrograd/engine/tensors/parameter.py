"""``Parameter``: a leaf that a module trains; a flag on the tensor, not a class of its own."""

from __future__ import annotations

from typing import Any

from .. import observe
from .base import LAZY, wrap
from .tensor import Tensor


class _ParameterMeta(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor) and value._meta is not None and value._meta.is_parameter


class Parameter(metaclass=_ParameterMeta):
    """``Parameter(data, requires_grad=True)`` returns a leaf that shares the data."""

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        source = Tensor() if data is None else data
        if not isinstance(source, Tensor):
            raise TypeError(f"Parameter data has to be a tensor, but got {type(data).__name__}")
        if requires_grad and not source._sig.differentiable:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        made = wrap(source._array)
        meta = made.need_meta()
        made.__class__ = source.__class__
        meta.is_parameter = True
        meta.requires_grad = requires_grad
        if requires_grad:
            made._fn = LAZY
        if observe.observers:
            observe.tell("copied", source, made)
        return made
