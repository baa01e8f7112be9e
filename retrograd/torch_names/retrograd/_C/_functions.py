"""``torch._C._functions``: the engine's node classes by name, and two functions."""

from __future__ import annotations

from typing import Any

from ..engine.execution.accumulate import AccumulateGrad
from ..engine.graph.special_nodes import DelayedError, UndefinedGrad
from ..engine.nodes.node import NODE_CLASSES


def __getattr__(name: str) -> Any:
    try:
        return NODE_CLASSES[name]
    except KeyError:
        raise AttributeError(f"module 'retrograd._C._functions' has no attribute '{name}'") from None


def __dir__() -> list[str]:
    return sorted({*NODE_CLASSES, *__all__})


__all__ = ["AccumulateGrad", "DelayedError", "UndefinedGrad"]
