"""``torch.serialization``: saving and loading."""

from __future__ import annotations

from typing import Any

from .engine.core.devices import check_present
from .engine.surface.process.saving import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    load,
    safe_globals,
    save,
)


class SourceChangeWarning(Warning):
    """What old versions of PyTorch warn of when a class has changed since it was saved; nothing here does."""


def default_restore_location(storage: Any, location: str) -> Any:
    """Memory where ``location`` says; only the CPU is there."""
    check_present(location)
    return storage


def location_tag(storage: Any) -> str:
    """Where memory is: ``"cpu"``."""
    return "cpu"


__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_safe_globals",
    "load",
    "location_tag",
    "safe_globals",
    "save",
    "SourceChangeWarning",
]
