"""The face of ``torch.nn``: ``Parameter`` and ``functional``."""

from __future__ import annotations

import importlib
from typing import Any

from ..engine.parameter import Parameter


def __getattr__(name: str) -> Any:
    if name == "functional":
        return importlib.import_module(f"{__name__}.functional")
    raise AttributeError(
        f"module 'retrograd.nn' has no attribute '{name}'; retrograd has nn.functional and nn.Parameter, layers are "
        "written with them"
    )


__all__ = ["Parameter"]
