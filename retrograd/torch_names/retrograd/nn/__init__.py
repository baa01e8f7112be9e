"""``torch.nn``: ``Module``, ``Parameter``, ``Buffer``, the layers of ``modules``, and ``functional``."""

from __future__ import annotations

import difflib
import importlib
from typing import Any

from .._absent import missing_attribute
from ..engine.tensors.parameter import Buffer, Parameter
from .compiled import OptimizedModule as _OptimizedModule  # noqa: F401 - tells `compile` what a module becomes
from .module import Module
from .modules import LAYERS
from .parallel import DataParallel
from .uninitialized import UninitializedBuffer, UninitializedParameter

globals().update(LAYERS)
__all__ = [  # noqa: PLE0604
    "Buffer", "DataParallel", "Module", "Parameter", "UninitializedBuffer", "UninitializedParameter", *LAYERS,
]  # fmt: skip
_ROOMS = ("attention", "common_types", "functional", "grad", "init", "modules", "parallel", "parameter", "utils")


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    near = difflib.get_close_matches(name, __all__, 3) if name[0] != "_" else []
    hint = f"; the nearest names are {', '.join(near)}" if near else ""
    raise missing_attribute(__name__, name, hint)
