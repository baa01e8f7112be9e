"""``torch.utils._device``: a device for new tensors as a block, and around a function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..engine.core.devices import device as _device
from ..engine.overriding.function_modes import TorchFunctionMode


class DeviceContext(TorchFunctionMode):
    """Makes new tensors on a device, as ``with torch.device(...)`` does."""

    __module__ = "retrograd.utils._device"

    def __init__(self, device: Any) -> None:
        self.device = _device(device) if isinstance(device, str) else device

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))

    def __enter__(self) -> DeviceContext:
        self.device.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        self.device.__exit__(*exc)


def device_decorator(device: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """``func``, whose new tensors are on ``device``."""

    @functools.wraps(func)
    def there(*args: Any, **kwargs: Any) -> Any:
        with device:
            return func(*args, **kwargs)

    return there


def set_device(device: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: new tensors of the function are on ``device``."""
    return lambda func: device_decorator(_device(device) if isinstance(device, str) else device, func)


__all__ = ["DeviceContext", "device_decorator", "set_device"]
