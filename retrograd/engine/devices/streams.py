"""Streams and events: the CPU computes in order, so there is nothing to wait for."""

from __future__ import annotations

from typing import Any, NoReturn

from ..core.devices import CPU


class Stream:
    """The one order in which the CPU computes; as a context it changes nothing."""

    __module__ = "retrograd"

    def __init__(self, device: Any = None, *, priority: int = 0, stream_id: int = 0) -> None:
        self.device, self.stream_id = _checked(device, "Stream"), stream_id
        self.device_type, self.device_index = 0, -1

    def query(self) -> bool:
        """Whether all is done: yes."""
        return True

    def synchronize(self) -> None:
        """Wait: all is done."""

    def wait_stream(self, stream: Any) -> None:
        """Wait for another stream: all is done."""

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing was changed."""

    def __repr__(self) -> str:
        return f"torch.Stream device_type=cpu, device_index=-1, stream_id={self.stream_id}"


class Event:
    """A moment of a stream; on the CPU there are none to record."""

    __module__ = "retrograd"

    def __init__(self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False) -> None:
        self.device, self.enable_timing, self.blocking = _checked(device, "Event"), enable_timing, blocking

    def query(self) -> bool:
        """Whether all before it is done: yes."""
        return True

    def synchronize(self) -> None:
        """Wait: all is done."""

    def record(self, stream: Any = None) -> NoReturn:
        """Refused: on a CPU all is done in order, and nothing marks a point of it."""
        raise RuntimeError("cpu backend doesn't support events: all is done in order there; time.perf_counter() times")

    wait = elapsed_time = record

    def __repr__(self) -> str:
        return "torch.Event device_type=cpu, device_index=-1, event_flag=0, event_id=0"


def _checked(device: Any, name: str) -> Any:
    if device is not None and str(device) != "cpu":
        raise RuntimeError(f"{name} on {device}: everything is computed on the CPU, there is no other device")
    return CPU
