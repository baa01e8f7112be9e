"""``Variable``: the old name of a tensor that may require grad."""

from __future__ import annotations

from typing import Any

from ..execution.introspection import queue_callback
from ..warning import warn
from .tensor import Tensor


class _ExecutionEngine:
    """The object that old programs access as ``Variable._execution_engine``."""

    queue_callback = staticmethod(queue_callback)


class _VariableMeta(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor)


class Variable(metaclass=_VariableMeta):
    """``Variable(tensor, requires_grad=False)`` returns a tensor that shares the data."""

    __module__ = "retrograd.autograd.variable"

    _execution_engine = _ExecutionEngine()

    def __new__(
        cls, data: Any = None, requires_grad: bool = False, volatile: bool | None = None, _grad_fn: Any = None,
        name: str | None = None,
    ) -> Any:  # fmt: skip
        if data is None:
            data = Tensor()
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if volatile is not None:
            warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")
        if requires_grad and not (data.is_floating_point() or data.is_complex()):
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        t = data.detach()
        if name is not None:
            t.need_meta().name = name
        return t._requiring_grad(requires_grad)
