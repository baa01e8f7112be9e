"""Parameters, buffers and the old ``Variable``."""

from __future__ import annotations

from typing import Any

from .. import late, observe
from ..core.base import LAZY, PLAIN_CLASSES, is_inference, wrap
from ..core.bits import bits_of, class_of, mark, memory_of
from ..execution.introspection import queue_callback
from ..overriding.dispatch_classes import is_dispatching
from ..overriding.overrides import disabled_torch_function_impl
from ..switches.state import STATE
from ..warning import warn
from .tensor import Tensor

# `Parameter` and `Buffer`: the tensors of a module, which it trains or only keeps.


class _ParameterMeta(type):
    """Tensors of other classes that were made parameters are instances of ``Parameter`` as well."""

    def __instancecheck__(cls, value: object) -> bool:
        if super().__instancecheck__(value):
            return True
        if cls is not Parameter or not isinstance(value, Tensor):
            return False
        flagged = value._meta is not None and value._meta.is_parameter
        return flagged or bool(getattr(value, "_is_param", False))  # as PyTorch lets classes say it


class Parameter(Tensor, metaclass=_ParameterMeta):
    """``Parameter(data, requires_grad=True)`` returns a leaf that shares the data.

    What is computed from it is a plain ``Tensor``.  Data of a subclass of ``Tensor`` keep their class.
    """

    __slots__ = ()
    __module__ = "retrograd.nn.parameter"
    __torch_function__ = disabled_torch_function_impl

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        source = Tensor() if data is None else data
        if not isinstance(source, Tensor):
            raise TypeError(f"Parameter data has to be a tensor, but got {type(data).__name__}")
        if requires_grad and not source._sig.differentiable:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        if requires_grad and is_inference(source) and not STATE.inference:
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed. Make a clone "
                "first."
            )
        if is_dispatching(source):
            made = _detached(source)
        else:
            made = wrap(memory_of(source), shares=True)
            made.__class__ = cls if class_of(source) in (late.tensor_class, Parameter) else type(source)
            mark(made, bits_of(source))
        meta = made.need_meta()
        meta.is_parameter = True
        meta.requires_grad = requires_grad
        if requires_grad:
            made._fn = LAZY
        if observe.observers:
            observe.notify("copied", source, made)
        return made


def _detached(source: Any) -> Any:
    """``detach`` of a tensor by its class; ``RuntimeError`` if the result has another class."""
    made = source.detach()
    if type(made) is not type(source):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(source).__name__} requires that detach() returns an "
            f"instance of the same type, but return type {type(made).__name__} was found instead. To use the type as "
            "a Parameter, please correct the detach() semantics defined by its __torch_dispatch__() implementation."
        )
    return made


late.parameter_class = Parameter
PLAIN_CLASSES.add(Parameter)


class _BufferMeta(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor) and "persistent" in value.__dict__ and "_is_buffer" in value.__dict__


class Buffer(metaclass=_BufferMeta):
    """``Buffer(data, persistent=True)`` returns a tensor that a module it is assigned to registers as buffer."""

    __module__ = "retrograd.nn.parameter"

    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        source = Tensor() if data is None else data
        made = source.detach()._requiring_grad(source.requires_grad)
        made.persistent, made._is_buffer = persistent, True
        return made


# `Variable`: the old name of a tensor that may require grad.


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
