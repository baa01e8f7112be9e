"""``autocast``: on the CPU it selects dtypes by function; for devices that do not exist here it warns."""

from __future__ import annotations

import functools
from typing import Any

from .. import observe
from ..core.base import TensorBase
from ..core.devices import device
from ..core.dtypes import by_name
from ..warning import warn
from . import casting

_FAST = ("bfloat16", "float16")


class autocast:  # noqa: N801 - torch's name
    """``autocast(device_type, dtype=None, enabled=True, cache_enabled=None)``, as context or decorator."""

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        device(device_type)
        self.device, self.fast_dtype, self._enabled = device_type, dtype, enabled
        self._cache_enabled = casting.HERE.cached if cache_enabled is None else cache_enabled
        self._before: list[tuple[bool, str, bool]] = []
        if device_type == "cpu":
            self.fast_dtype = by_name(casting.HERE.dtype) if dtype is None and enabled else dtype
            if enabled and self.fast_dtype.name not in _FAST:
                warn(
                    "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                    "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
                )
                self._enabled = False
        elif enabled:
            warn(f"User provided device_type of '{device_type}', but {device_type.upper()} is not available. Disabling")
            self._enabled = False

    def __enter__(self) -> autocast:
        here = casting.HERE
        self._before.append((here.enabled, here.dtype, here.cached))
        here.depth += 1
        if self.device == "cpu":
            if self.fast_dtype is not None:
                here.dtype = self.fast_dtype.name
            here.cached = self._cache_enabled
            casting.switch(enabled=self._enabled)
        self._tell("entered")
        return self

    def _tell(self, action: str) -> None:
        if observe.observers:
            here, cpu = casting.HERE, self.device == "cpu"
            dtype = here.dtype if cpu else str(self.fast_dtype or "torch.float16").rpartition(".")[2]
            observe.notify("autocast_switched", action, self.device, cpu and here.enabled, dtype)

    def __exit__(self, *exc: object) -> None:
        here = casting.HERE
        enabled, here.dtype, here.cached = self._before.pop()
        casting.switch(enabled=enabled)
        here.depth -= 1
        if not here.depth:
            here.kept.clear()
        self._tell("left")

    def __call__(self, func: Any) -> Any:
        @functools.wraps(func)
        def decorate_autocast(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return decorate_autocast


def cuda_autocast(enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> autocast:
    """``torch.cuda.amp.autocast``."""
    return autocast("cuda", dtype, enabled, cache_enabled)


def cpu_autocast(enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> autocast:
    """``torch.cpu.amp.autocast``."""
    return autocast("cpu", dtype, enabled, cache_enabled)


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """A ``Function.forward`` that notes for ``custom_bwd`` how it was called.

    With ``cast_inputs`` it gets floating tensors in that dtype, and runs with ``autocast`` off, where that was on.
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        on = device_type == "cpu" and casting.HERE.enabled
        ctx._dtype, ctx._fwd_used_autocast = by_name(casting.HERE.dtype) if on else None, on and cast_inputs is None
        if not on or cast_inputs is None:
            return fwd(ctx, *args, **kwargs)
        with autocast("cpu", enabled=False):
            named = {name: _cast_input(value, cast_inputs) for name, value in kwargs.items()}
            return fwd(ctx, *[_cast_input(value, cast_inputs) for value in args], **named)

    return forward


def _cast_input(value: Any, dtype: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)([_cast_input(part, dtype) for part in value])
    if isinstance(value, dict):
        return {name: _cast_input(part, dtype) for name, part in value.items()}
    castable = isinstance(value, TensorBase) and value.is_floating_point() and value.dtype.name != "float64"
    return value.to(dtype) if castable else value


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """A ``Function.backward`` that runs with ``autocast`` as it was in its forward, which ``custom_fwd`` noted."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(ctx: Any, *grads: Any) -> Any:
        if device_type != "cpu":
            return bwd(ctx, *grads)
        with autocast("cpu", ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(ctx, *grads)

    return backward


def is_autocast_available(device_type: str) -> bool:
    """Whether ``autocast`` does anything on a device: on the CPU."""
    return device_type == "cpu"


cuda_custom_fwd = functools.partial(custom_fwd, device_type="cuda")
cuda_custom_bwd = functools.partial(custom_bwd, device_type="cuda")
"""``torch.cuda.amp``'s, which do not ask for the device."""
