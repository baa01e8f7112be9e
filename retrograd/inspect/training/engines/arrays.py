"""``ArrayReader``: statistics of steps by NumPy, of parameters that it can read where they lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...histories.history import Array
from . import MEASURED


class ArrayReader:
    """Reads the statistics of some parameters; keeps one copy of their values before the step."""

    def __init__(self, parameters: Sequence[Any], array_of: Callable[[Any], Array]) -> None:
        self._parameters, self._array_of = list(parameters), array_of
        self._before: list[Array] = []
        self._figures: Array | None = None

    def take(self, parameters: Sequence[Any]) -> None:
        """Read these parameters, which have taken the places of the ones before; none, until others are given."""
        self._parameters = list(parameters)

    def keep(self, places: Sequence[int]) -> None:
        """Keep what was read of the parameters at some places."""
        self._before = [self._before[place] for place in places]
        self._figures = None if self._figures is None else self._figures[:, list(places)]

    def settle(self) -> None:
        """Do nothing: of gradients all is read at once."""

    def before(self, gradients: Sequence[Any] | None) -> None:
        """Copy the parameters, and read their gradients unless the step computes these itself."""
        if self._before:
            for kept, one in zip(self._before, self._parameters, strict=True):
                np.copyto(kept, self._array_of(one))
        else:
            self._before = [self._array_of(one).copy() for one in self._parameters]
        self._figures = None if gradients is None else self._read_gradients(gradients)

    def copies(self) -> list[Any]:
        """Return the values of the parameters before the step."""
        return list(self._before)

    def after(self, others: Sequence[Any]) -> tuple[Array, list[float]]:
        """Return the statistics of the step, and the numbers in other tensors."""
        known = self._figures
        figures = self._read_gradients([one.grad for one in self._parameters]) if known is None else known.copy()
        with np.errstate(all="ignore"):
            for place, (one, before) in enumerate(zip(self._parameters, self._before, strict=True)):
                array = self._array_of(one)
                figures[1, place] = _squared(array)
                figures[2, place] = _squared(np.subtract(array, before))
            figures[:3] = np.sqrt(figures[:3])
        return figures.astype(np.float32), [float(one) for one in others]

    def _read_gradients(self, gradients: Sequence[Any]) -> Array:
        """Return the statistics with those of gradients filled in; norms are still squared."""
        figures = np.full((len(MEASURED), len(gradients)), np.nan)
        with np.errstate(all="ignore"):
            for place, grad in enumerate(gradients):
                if grad is None:
                    continue
                array = self._array_of(grad)
                figures[0, place] = squared = _squared(array)
                figures[3, place] = 1 - np.count_nonzero(array != 0) / max(array.size, 1)
                figures[4, place] = 0 if squared < np.inf else float((~np.isfinite(array)).mean())
        return figures


def _squared(array: Array) -> float:
    """Return the square of a norm; in float64 where it does not fit into float32."""
    flat = array.ravel(order="K")
    if flat.dtype == np.float32 and (found := np.dot(flat, flat)) < np.inf:
        return float(found)
    wide = flat.astype(np.complex128 if flat.dtype.kind == "c" else np.float64)
    return float(np.vdot(wide, wide).real)
