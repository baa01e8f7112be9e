"""The types of named results under PyTorch's name: ``torch.return_types``."""

from __future__ import annotations

from .engine.return_types import RETURN_TYPES as _RETURN_TYPES

globals().update(_RETURN_TYPES)
__all__ = list(_RETURN_TYPES)
