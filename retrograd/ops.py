"""``torch.ops``-shaped face: every operator that the program declared, as ``ops.namespace.name``."""

from __future__ import annotations

from .engine.custom_op.registry import OpNamespace
from .engine.custom_op.registry import ops as _root


def __getattr__(name: str) -> OpNamespace:
    return getattr(_root, name)  # type: ignore[no-any-return]


def __dir__() -> list[str]:
    return dir(_root)
