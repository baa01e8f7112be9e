"""Other dtypes for the parameters and buffers of a module; methods of ``Module``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine.table.methods import FUNCTIONS
from ..engine.tensors.devices import device as Device
from ..engine.tensors.dtypes import PYTHON_TYPES, float16, float32, float64
from ..engine.tensors.dtypes import dtype as Dtype
from ..engine.tensors.parameter import Parameter


def _each(module: Any, change: Callable[[Any], Any], all_kinds: bool = False) -> Any:
    """Change the data of every floating (or every) parameter, its gradient, and every buffer.

    That is done in place, but where memory comes or goes: there others take their places in the modules.
    """
    others: dict[Any, Any] = {}
    for t in (*module.parameters(), *module.buffers()):
        if all_kinds or t.is_floating_point() or t.is_complex():
            grad = t._meta.grad if t.is_leaf and t._meta is not None else None  # the program does not look at it
            made = change(t.data)
            if made.is_meta is not t.is_meta:
                others[t] = Parameter(made, t.requires_grad) if isinstance(t, Parameter) else made
                continue
            t.data = made
            if grad is not None:
                grad.data = change(grad.data)
    if others:
        _replace(module, others)
    return module


def _replace(module: Any, others: dict[Any, Any]) -> None:
    """Let other tensors stand where those that are keys stood."""
    for part in module.modules():
        for held in (part._parameters, part._buffers):
            held.update({name: others[t] for name, t in held.items() if t in others})


def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Change the dtype of floating parameters and buffers in place, and the memory format of those of images.

    A memory format is for tensors of 4 or 5 dimensions; it is left out for others.
    """
    given = (*args, *kwargs.values())
    kinds = [PYTHON_TYPES.get(value) if isinstance(value, type) else value for value in given]
    wanted = next((kind for kind in kinds if isinstance(kind, Dtype)), None)
    if wanted is not None and not (wanted.is_floating_point or wanted.is_complex):
        raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={wanted}")
    unformatted = {name: value for name, value in kwargs.items() if name != "memory_format"}
    places = (*args, *unformatted.values())  # memory formats are texts, too
    place = next((value for value in places if isinstance(value, (str, Device))), None)

    def change(data: Any) -> Any:
        if not (data.is_floating_point() or data.is_complex()):
            return data if place is None else data.to(place)
        return data.to(*args, **(kwargs if data.dim() in (4, 5) else unformatted))

    return _each(self, change, all_kinds=True)


def to_type(self: Any, dst_type: Any) -> Any:
    """All parameters and buffers in a dtype."""
    return _each(self, lambda data: data.type(dst_type), all_kinds=True)


def double(self: Any) -> Any:
    """All floating parameters in float64."""
    return to(self, float64)


def single(self: Any) -> Any:
    """All floating parameters in float32."""
    return to(self, float32)


def half(self: Any) -> Any:
    """All floating parameters in float16."""
    return to(self, float16)


def cpu(self: Any) -> Any:
    """The module on the CPU."""
    return to(self, "cpu")


def share_memory(self: Any) -> Any:
    """Parameters and buffers in memory that they share with processes which are forked later."""
    for t in (*self.parameters(), *self.buffers()):
        t.share_memory_()
    return self


def to_empty(self: Any, *, device: Any, recurse: bool = True) -> Any:
    """Parameters and buffers of the same shapes with arbitrary values."""
    return _each(self, lambda data: FUNCTIONS["empty_like"](data, device=device), all_kinds=True)


def cuda(self: Any, device: Any = None) -> Any:
    """Refused: there is no GPU here."""
    raise AssertionError("Torch not compiled with CUDA enabled: retrograd computes on the CPU only; leave .cuda() out")


def xpu(self: Any, device: Any = None) -> Any:
    """Refused: there is no such device here."""
    raise AssertionError("Torch not compiled with XPU enabled: retrograd computes on the CPU only; leave .xpu() out")


def mtia(self: Any, device: Any = None) -> Any:
    """Refused: there is no such device here."""
    raise AssertionError("Torch not compiled with MTIA enabled: retrograd computes on the CPU only; leave .mtia() out")


def bfloat16(self: Any) -> Any:
    """Refused: NumPy has no such numbers."""
    raise RuntimeError("retrograd has no bfloat16, because NumPy has none; use float() or half()")
