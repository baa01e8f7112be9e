"""Copies and casts: another dtype, another memory format, no history."""

from __future__ import annotations

from typing import Any

from ....aliasing.memory_formats import check_memory_format, format_of
from ....core import devices
from ....core.bits import memory_of
from ....core.devices import check_present, is_meta
from ....core.dtypes import dtype_of_type
from ....core.layouts import preserve_format
from ....core.registry import F
from ....core.targets import target_of
from ....table.public import check_tensor, public


@public("to", function=False)
def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Another dtype (or that of another tensor) or memory format; the tensor itself when nothing changes."""
    target = target_of(args, kwargs)
    check_memory_format("to", target.memory_format)
    numpy = self._sig.numpy if target.dtype is None else target.dtype.numpy
    if target.device is not None and is_meta(target.device) is not self.is_meta:
        return devices.move(self, numpy)
    if numpy == self._sig.numpy and not target.copy and _is_in(self, target.memory_format):
        return self
    return F._to_copy(self, numpy, target.memory_format)


def _is_in(t: Any, wanted: Any) -> bool:
    """Whether the strides of a tensor suggest a memory format, though there may be gaps."""
    return wanted is None or wanted == preserve_format or wanted == format_of(memory_of(t))


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


for _name in (
    "half",
    "float",
    "double",
    "byte",
    "char",
    "short",
    "int",
    "long",
    "bool",
    "cfloat",
    "cdouble",
    "bfloat16",
):
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
