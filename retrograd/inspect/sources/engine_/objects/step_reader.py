"""Reads what our engine's parameters and their gradients hold."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ...array_values import has_data
from ...step_effects import content_of, is_zero


class StepReader:
    """``Reader`` of our engine."""

    def contents(self, parameters: Sequence[Any]) -> list[Hashable]:
        """Return for each parameter what differs if its values do."""
        return [_content(parameter._array) for parameter in parameters]

    def gradients(self, parameters: Sequence[Any]) -> list[str | None]:
        """Return for each whether ``.grad`` is none or zero."""
        return [_state(parameter._meta) for parameter in parameters]

    def values(self, parameters: Sequence[Any]) -> list[Any]:
        """Return the array of each."""
        return [one._array if has_data(one._array) else None for one in parameters]

    def place(self, parameter: Any) -> Hashable:
        """Return which array a parameter has, and its version, which writes by an alias of NumPy's leave as it was."""
        return id(parameter._array), parameter._version


def _content(array: Any) -> Hashable:
    if not has_data(array) or not array.size:
        return None
    return content_of(np.ascontiguousarray(array).reshape(-1).view(np.uint8))


def _state(meta: Any) -> str | None:
    gradient = None if meta is None else meta.grad
    if gradient is None:
        return "none"
    array = gradient._array
    return "zero" if has_data(array) and is_zero(array) else None
