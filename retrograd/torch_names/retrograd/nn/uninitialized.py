"""Parameters and buffers whose shape is not known yet: lazy layers give it to them at their first input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..engine.core.absent import AbsentMemory
from ..engine.core.base import TensorBase, wrap
from ..engine.core.devices import device
from ..engine.meta.tensor import MetaTensor
from ..engine.methods import FUNCTIONS
from ..engine.overriding.dispatch_classes import count
from ..engine.overriding.overrides import disabled_torch_function_impl
from ..engine.tensors.parameter import Parameter
from ..engine.tensors.tensor import Tensor

_memory: Any = TensorBase.__dict__["_array"]
"""The slot for the array, which the classes below hide so that nobody computes with it."""
_USED = (
    "Attempted to use an uninitialized parameter. This error happens when you are using a `LazyModule` or explicitly "
    "manipulating `torch.nn.parameter.UninitializedParameter` objects. When using LazyModules Call `forward` with a "
    "dummy batch to initialize the parameters before calling torch functions"
)
_NO_SHAPE = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` "
    "when trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the "
    "parameters before accessing their attributes."
)


_CONVERSIONS = ("to", "cpu", "cuda", "half", "float", "double", "char", "short", "int", "long")


def _conversion(name: str) -> Callable[..., Any]:
    """A method of tensors that is allowed without a shape: the empty data take another dtype."""

    def convert(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = getattr(self.data, name)(*args, **kwargs)
        return made if isinstance(self, Parameter) else _unknown(type(self), made)

    return convert


class _Unknown:
    """What parameters and buffers without a shape have in common; only their dtype can be asked for and changed."""

    __slots__ = ()
    cls_to_become: Any = Tensor

    def _refused(self, *args: Any) -> NoReturn:
        raise ValueError(_USED)

    def _shapeless(self) -> NoReturn:
        raise RuntimeError(_NO_SHAPE)

    _array, numel, __len__, sum = property(_refused, _refused), _refused, _refused, _refused
    shape = property(_shapeless)

    @property
    def is_meta(self) -> bool:
        """Whether it gets no memory with its shape."""
        return isinstance(_memory.__get__(self), AbsentMemory)

    @property
    def is_cpu(self) -> bool:
        """Whether it gets memory with its shape."""
        return not self.is_meta

    @property
    def device(self) -> Any:
        """Where it will be."""
        return device("meta" if self.is_meta else "cpu")

    @property
    def data(self) -> Any:
        """An empty tensor of the dtype."""
        memory = _memory.__get__(self)
        return MetaTensor.made((0,), memory.dtype) if self.is_meta else wrap(memory)

    @data.setter
    def data(self: Any, value: Any) -> None:
        _memory.__set__(self, value._array)
        self._sig = value._sig

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Take a shape (and perhaps a dtype); the values are arbitrary, as those of ``empty``."""
        kind, place = self.dtype if dtype is None else dtype, self.device if device is None else device
        made = FUNCTIONS["empty"](*shape, dtype=kind, device=place)
        _memory.__set__(self, made._array)
        self._sig = made._sig
        self.__class__ = MetaTensor if made.is_meta else self.cls_to_become
        if made.is_meta:
            count(self)

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        memo[id(self)] = made = type(self)(self.requires_grad, self.device, self.dtype)
        return made

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        return type(self), (self.requires_grad, self.device, self.dtype)


for _name in _CONVERSIONS:
    setattr(_Unknown, _name, _conversion(_name))


def _unknown(cls: Any, made: Any) -> Any:
    made.__class__ = cls
    return made


class UninitializedParameter(_Unknown, Parameter):
    """A parameter that gets its shape later, by ``materialize``."""

    __slots__ = ()
    __module__ = "retrograd.nn.parameter"
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        """One without a shape."""
        return _unknown(cls, Parameter(FUNCTIONS["empty"](0, dtype=dtype, device=device), requires_grad))


class UninitializedBuffer(_Unknown, Tensor):
    """A buffer that gets its shape later, by ``materialize``."""

    __slots__ = ()
    __module__ = "retrograd.nn.parameter"
    __torch_function__ = disabled_torch_function_impl

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        """One without a shape."""
        made = FUNCTIONS["empty"](0, dtype=dtype, device=device, requires_grad=requires_grad)
        made.persistent, made._is_buffer = persistent, True
        return _unknown(cls, made)


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(param, _Unknown)
