"""Copies and casts: another dtype, another memory format, no history."""

from __future__ import annotations

from typing import Any

from ...aliasing.memory_formats import check_memory_format, format_of
from ...table.public import check_tensor, public
from ...table.registry import F
from ...tensors import devices
from ...tensors.base import TensorBase
from ...tensors.bits import memory_of
from ...tensors.convert import dtype_of_type
from ...tensors.devices import check_present, device, is_meta
from ...tensors.dtypes import PYTHON_TYPES, dtype, to_numpy_dtype
from ...tensors.layouts import memory_format, preserve_format


@public("to", function=False)
def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Another dtype (or that of another tensor) or memory format; the tensor itself when nothing changes."""
    wanted = kwargs.get("memory_format")
    check_memory_format("to", wanted)
    target = kwargs.get("dtype")
    where = kwargs.get("device")
    for a in args:
        if isinstance(a, dtype) or a in PYTHON_TYPES:
            target = a
        elif isinstance(a, TensorBase):
            target, where = a.dtype, a.device
        elif isinstance(a, memory_format):
            raise TypeError(f"to() received an invalid combination of arguments: write to(memory_format={a})")
        elif isinstance(a, (str, device)) or a.__class__ is int:
            where = a
        elif a is not None and a.__class__ is not bool:  # also None for a dtype; flags may stand by place
            raise _refused_target(type(a).__name__)
    if not (target is None or isinstance(target, dtype) or target in PYTHON_TYPES):
        raise _refused_target(f"dtype={type(target).__name__}, ")
    if where is not None:
        check_present(where)
    numpy = self._sig.numpy if target is None else to_numpy_dtype(target)
    if where is not None and is_meta(where) is not self.is_meta:
        return devices.move(self, numpy)
    if numpy == self._sig.numpy and not kwargs.get("copy") and _is_in(self, wanted):
        return self
    return F._to_copy(self, numpy, wanted)


def _is_in(t: Any, wanted: Any) -> bool:
    """Whether the strides of a tensor suggest a memory format, though there may be gaps."""
    return wanted is None or wanted == preserve_format or wanted == format_of(memory_of(t))


def _refused_target(given: str) -> TypeError:
    return TypeError(
        f"to() received an invalid combination of arguments - got ({given}), but expected a dtype, a device or another "
        "tensor; write for example to(torch.float32)"
    )


@public("cuda", function=False)
def cuda(self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
    """Refused: there is no such device."""
    check_present("cuda")


@public("type_as", function=False)
def type_as(self: Any, other: Any) -> Any:
    """The dtype of another tensor."""
    return to(self, other)


def _conversion(name: str) -> Any:
    def convert(self: Any, *args: Any, memory_format: Any = None) -> Any:
        if args:
            given = "1 was" if len(args) == 1 else f"{len(args)} were"
            raise TypeError(f"{name}() takes 0 positional arguments but {given} given")
        return to(self, dtype_of_type(name), memory_format=memory_format)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"A copy whose dtype is that of ``{name}``, or the tensor itself if it has it."
    return convert


for _name in ("half", "float", "double", "byte", "char", "short", "int", "long", "bool", "cfloat", "cdouble"):
    public(_name, function=False)(_conversion(_name))
public("cpu", function=False)(lambda self, **kw: to(self, "cpu", **kw))


@public("clone")
def clone(input: Any, *, memory_format: Any = None) -> Any:  # noqa: A002
    """A copy that is part of the graph, laid out as ``input`` is or in a memory format."""
    check_tensor("clone", input)
    check_memory_format("clone", memory_format)
    return F.clone(input, memory_format)


@public("detach", method=False)
def detach(input: Any) -> Any:  # noqa: A002
    """``input.detach()``."""
    return input.detach()
