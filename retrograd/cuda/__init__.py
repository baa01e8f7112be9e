"""The face of ``torch.cuda``: there is no such device."""

from __future__ import annotations

from typing import Any

from ..engine.devices.absent import names_of
from . import amp

_names = names_of("cuda")
globals().update(_names)


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"module 'retrograd.cuda' has no attribute '{name}': everything is computed on the CPU; "
        "ask torch.cuda.is_available() first"
    )


__all__ = ["amp", *_names]  # noqa: PLE0604
