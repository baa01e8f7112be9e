"""``Variable``: the old name of a tensor that may require grad."""

from __future__ import annotations

from typing import Any

from ..execution.introspection import queue_callback
from ..warning import warn
from .tensor import Tensor


class _ExecutionEngine:
    """What old programs reach as ``Variable._execution_engine``."""

    queue_callback = staticmethod(queue_callback)


class _VariableMeta(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor)


class Variable(metaclass=_VariableMeta):
    """``Variable(tensor, requires_grad=False)`` returns a tensor that shares the data."""

    _execution_engine = _ExecutionEngine()

    def __new__(cls, data: Any, requires_grad: bool = False, volatile: bool | None = None) -> Any:
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if volatile is not None:
            warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")
        t = data.detach()
        return t.requires_grad_(requires_grad)
