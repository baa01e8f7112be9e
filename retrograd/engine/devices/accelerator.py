"""``torch.accelerator`` on a machine without one: reports that there is none, and refuses the rest as PyTorch does."""

from __future__ import annotations

from typing import Any, NoReturn

from .absent import device_count, is_available


def current_accelerator(check_available: bool = False) -> None:
    """The accelerator of this machine: there is none."""


def _refused(*args: Any, **kwargs: Any) -> NoReturn:
    raise RuntimeError("Cannot access accelerator device when none is available.")


NEED_ACCELERATOR = (
    "current_device_idx", "current_device_index", "current_stream", "empty_cache", "empty_host_cache",
    "get_device_capability", "get_memory_info", "max_memory_allocated", "max_memory_reserved", "memory_allocated",
    "memory_reserved", "memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx",
    "set_device_index", "set_stream", "synchronize",
)  # fmt: skip
"""Names that are of use with an accelerator only."""

NAMES: dict[str, Any] = {
    "current_accelerator": current_accelerator, "device_count": device_count, "is_available": is_available,
    **dict.fromkeys(NEED_ACCELERATOR, _refused),
}  # fmt: skip
