"""The catalogue of operators: what is known about each row of the engine's table."""

from __future__ import annotations

from .engine.catalogue import Operator, operators

__all__ = ["Operator", "operators"]
