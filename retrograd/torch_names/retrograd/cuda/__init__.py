"""``torch.cuda``: there is no such device."""

from __future__ import annotations

import sys
from typing import Any

from ..engine.devices.absent import names_of
from ..engine.devices.cuda_names import NAMES
from . import amp, nvtx

_names = names_of("cuda") | NAMES
globals().update(_names)

# PyTorch has them in files of these names.
memory = random = streams = sys.modules[__name__]
sys.modules |= {f"{__name__}.{name}": memory for name in ("memory", "random", "streams")}


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"module 'retrograd.cuda' has no attribute '{name}': everything is computed on the CPU; "
        "ask torch.cuda.is_available() first"
    )


__all__ = ["amp", "memory", "nvtx", "random", "streams", *_names]  # noqa: PLE0604
