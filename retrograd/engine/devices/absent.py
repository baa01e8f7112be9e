"""Devices that do not exist here: their count is 0, waiting for them returns at once, and using one is refused.

A program that asks ``torch.cuda.is_available()`` first runs as it does with PyTorch's build for CPUs.
"""

from __future__ import annotations

from typing import Any, NoReturn


def is_available() -> bool:
    """Whether there is such a device: no."""
    return False


def device_count() -> int:
    """How many there are: none."""
    return 0


def nothing(*args: Any, **kwargs: Any) -> None:
    """What has no effect without the device, such as seeding it or emptying its cache."""


def no_bytes(*args: Any, **kwargs: Any) -> int:
    """Memory in use there, in bytes: none."""
    return 0


def refusal(kind: str, name: str) -> Any:
    """A function or class that needs the device: ``AssertionError`` when it is called."""

    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        raise AssertionError(
            f"Torch not compiled with {kind.upper()} enabled: {kind}.{name} needs a device that is not there, "
            f"everything is computed on the CPU; ask torch.{kind}.is_available() first"
        )

    refused.__name__ = refused.__qualname__ = name
    return refused


NEED_DEVICE = (
    "Event", "Stream", "current_device", "current_stream", "default_stream", "get_device_capability",
    "get_device_name", "get_device_properties", "init", "mem_get_info", "set_device", "stream", "synchronize",
)  # fmt: skip
"""Names of a device's module that are of use with the device only."""


def names_of(kind: str) -> dict[str, Any]:
    """What the module of a device offers, by name."""
    harmless = ("empty_cache", "manual_seed", "manual_seed_all", "reset_peak_memory_stats", "seed", "seed_all")
    memory = ("max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved")
    found: dict[str, Any] = {"is_available": is_available, "is_initialized": is_available, "device_count": device_count}
    found |= dict.fromkeys(harmless, nothing) | dict.fromkeys(memory, no_bytes)
    return found | {name: refusal(kind, name) for name in NEED_DEVICE}


class EmitMarks:
    """``emit_nvtx`` and ``emit_itt``: marks for profilers of devices; refused where one is begun."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes = enabled, record_shapes

    def __enter__(self) -> EmitMarks:
        if self.enabled:
            raise AssertionError(
                "NVTX functions not installed, Torch not compiled with CUDA enabled: there is no device whose profiler "
                "could show marks; use torch.profiler.profile instead"
            )
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing was begun."""
