"""``torch.utils.deterministic``: whether memory that nobody has written is filled while determinism is asked for."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ..engine.switches import determinism


class _Settings(ModuleType):
    """A module whose setting is the engine's."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether it is filled."""
        return determinism.fills

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: Any) -> None:
        if not isinstance(mode, bool):
            raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
        determinism.fills = mode


sys.modules[__name__].__class__ = _Settings

__all__ = ["fill_uninitialized_memory"]  # noqa: F822 - of the class
