"""``torch.cpu``: the one device, whose one stream never has to be waited for."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from types import ModuleType
from typing import Any

from .engine.devices.absent import nothing as set_device
from .engine.devices.absent import nothing as synchronize
from .engine.devices.grad_scaler import GradScaler
from .engine.devices.mixed_precision import cpu_autocast
from .engine.devices.streams import Event, Stream

_STREAM = Stream()
amp = ModuleType(f"{__name__}.amp", "Mixed precision under its older name.")
vars(amp).update(autocast=cpu_autocast, GradScaler=GradScaler)
sys.modules[amp.__name__] = amp


def is_available() -> bool:
    """Whether there is a CPU: yes."""
    return True


is_initialized = is_available


def device_count() -> int:
    """How many there are: one."""
    return 1


def current_device() -> str:
    """Always ``"cpu"``."""
    return "cpu"


def current_stream(device: Any = None) -> Stream:
    """The one stream."""
    return _STREAM


def stream(stream: Any) -> Any:
    """A context that changes nothing."""
    return nullcontext(stream)


StreamContext = stream

__all__ = [
    "Event", "Stream", "StreamContext", "current_device", "current_stream", "device_count", "is_available",
    "is_initialized", "set_device", "stream", "synchronize",
]  # fmt: skip
