"""``torch.ops``-shaped face: the engine's operators as ``ops.aten``, the program's own as ``ops.namespace``."""

from __future__ import annotations

from .engine.custom_op.registry import OpNamespace
from .engine.custom_op.registry import ops as _root
from .engine.overriding.aten import AtenNamespace, aten


def __getattr__(name: str) -> OpNamespace | AtenNamespace:
    return aten if name == "aten" else getattr(_root, name)


def __dir__() -> list[str]:
    return dir(_root)
