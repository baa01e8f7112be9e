"""Other dtypes for the parameters and buffers of a module; methods of ``Module``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine.core.dtypes import by_name, dtype, float16, float32, float64
from ..engine.core.swapping import swap_tensors
from ..engine.core.targets import target_of
from ..engine.methods import FUNCTIONS
from ..engine.switches.engine_switches import (
    get_overwrite_module_params_on_conversion,
    get_swap_module_params_on_conversion,
)
from ..engine.switches.modes import no_grad
from ..engine.tensors.parameter import Parameter
from ..engine.warning import warn


def apply_to_tensors(self: Any, fn: Callable[[Any], Any], recurse: bool = True) -> Any:
    """Put what ``fn`` makes of them in the place of parameters, gradients and buffers, those of children first.

    All conversions go through this method, so that a module can take further tensors along by a method of its own.
    Parameters stay the objects that they are, with other data, but where memory comes or goes.
    """
    if recurse:
        for child in self.children():
            child._apply(fn)
    for name, p in self._parameters.items():
        if p is not None:
            self._parameters[name] = _converted(p, fn, f"{type(self).__name__}.{name}")
    self._buffers.update({name: fn(b) for name, b in self._buffers.items() if b is not None})
    return self


def _converted(p: Any, fn: Callable[[Any], Any], name: str) -> Any:
    """The parameter that takes the place of ``p``: itself, or another where only one of the two has memory."""
    grad = None if p._meta is None else p._meta.grad  # read in silence: it is not the program that looks at it
    with no_grad():
        made, made_grad = fn(p), None if grad is None else fn(grad)
    if get_swap_module_params_on_conversion():
        return _exchanged(p, made, grad, made_grad, name)
    if made.is_meta is p.is_meta and not get_overwrite_module_params_on_conversion():
        p.data = made
    else:
        p = Parameter(made, p.requires_grad)
        p.grad = made_grad
    if grad is not None and p.grad is not made_grad:
        grad.data = made_grad
    return p


def _exchanged(p: Any, made: Any, grad: Any, made_grad: Any, name: str) -> Any:
    """The same tensor objects, gradient included, with the content of what was made of them."""
    p.grad = None
    try:
        swap_tensors(p, Parameter(made, p.requires_grad))
        if grad is not None:
            swap_tensors(grad, made_grad.detach().requires_grad_(grad.requires_grad))
    except RuntimeError as error:
        p.grad = grad
        raise RuntimeError(f"_apply(): Couldn't swap {name}") from error
    p.grad = grad
    return p


def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Change the dtype of floating parameters and buffers in place, and the memory format of those of images.

    A memory format is for tensors of 4 or 5 dimensions; it is left out for others.
    """
    target = target_of(args, kwargs)
    if target.copy:
        raise RuntimeError(".to() does not accept copy argument")
    wanted = target.dtype
    if wanted is not None and not (wanted.is_floating_point or wanted.is_complex):
        raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={wanted}")
    if wanted is not None and wanted.is_complex:
        warn(
            "Complex modules are a new feature under active development whose design may change, and some modules "
            "might not work as expected when using complex tensors as parameters or buffers.")  # fmt: skip

    def change(t: Any) -> Any:
        floating = t.is_floating_point() or t.is_complex()
        memory_format = target.memory_format if t.dim() in (4, 5) else None
        return t.to(target.device, wanted if floating else None, memory_format=memory_format)

    return self._apply(change)


def to_type(self: Any, dst_type: Any) -> Any:
    """All parameters and buffers in a dtype."""
    return self._apply(lambda t: t.type(dst_type))


def _in_floating(self: Any, wanted: dtype) -> Any:
    return self._apply(lambda t: t.to(wanted) if t.is_floating_point() else t)


def double(self: Any) -> Any:
    """All floating parameters and buffers in float64."""
    return _in_floating(self, float64)


def single(self: Any) -> Any:
    """All floating parameters and buffers in float32."""
    return _in_floating(self, float32)


def half(self: Any) -> Any:
    """All floating parameters and buffers in float16."""
    return _in_floating(self, float16)


def cpu(self: Any) -> Any:
    """The module on the CPU."""
    return self._apply(lambda t: t.cpu())


def share_memory(self: Any) -> Any:
    """Parameters and buffers in memory that they share with processes which are forked later."""
    return self._apply(lambda t: t.share_memory_())


def to_empty(self: Any, *, device: Any, recurse: bool = True) -> Any:
    """Parameters and buffers of the same shapes with arbitrary values."""
    return self._apply(lambda t: FUNCTIONS["empty_like"](t, device=device), recurse=recurse)


def _on_absent(device: str) -> Callable[..., Any]:
    """A method that moves to a device which is not there: refused, but for modules that have nothing to move."""

    def refuse(t: Any) -> Any:
        raise AssertionError(
            f"Torch not compiled with {device.upper()} enabled: retrograd computes on the CPU only; leave .{device}() "
            "out"
        )

    def method(self: Any, device: Any = None) -> Any:
        return self._apply(refuse)

    return method


cuda, xpu, mtia = _on_absent("cuda"), _on_absent("xpu"), _on_absent("mtia")


def bfloat16(self: Any) -> Any:
    """All floating parameters and buffers in bfloat16."""
    return _in_floating(self, by_name("bfloat16"))
