"""The face of ``torch.cpu``: the one device, whose one stream never has to be waited for."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from .engine.devices.absent import nothing as set_device
from .engine.devices.absent import nothing as synchronize
from .engine.devices.streams import Event, Stream

_STREAM = Stream()


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
