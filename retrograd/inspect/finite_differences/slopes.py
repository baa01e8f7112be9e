"""Slopes along random directions, analytic and by central differences, and the search for the entry that differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..sources.kept_calls import Array
from .maps import Map, drawn_like


class Precision(NamedTuple):
    """Tolerances for comparing the two kinds of slope."""

    steps: tuple[float, ...]
    """Relative steps, tried in this order until the difference quotient no longer depends on them."""
    agreement: float
    """Largest relative difference between the quotients of two steps, or of both sides."""
    suspicion: float
    """Relative difference of slopes along many entries above which single entries are examined: errors may cancel in
    sums."""
    tolerance: float
    """Relative difference of slopes along one entry above which they differ."""


_FEW = 12
DOUBLE = Precision((1e-4, 1e-6, 1e-8), 2e-3, 5e-3, 4e-2)
SINGLE = Precision((1e-2, 3e-3), 2e-2, 8e-2, 8e-2)


class Slope(NamedTuple):
    """The slopes of one sum of outputs along one direction."""

    analytic: float
    numeric: float
    scale: float
    """Magnitude to which errors are relative, so that cancellation in a large sum is not taken for an error."""
    settled: bool
    """Whether quotients of both sides and of half the step agree: the map is smooth here."""
    moved: bool
    """Whether any output changed at all."""

    @property
    def error(self) -> float:
        """The relative difference of the two slopes."""
        return abs(self.analytic - self.numeric) / self.scale if self.scale else 0.0


@dataclass(slots=True)
class Place:
    """A map at one point, with one choice of incoming gradients."""

    map: Map
    arrays: list[Array]
    out: list[Array]
    given: list[Array]
    products: list[Array | None]
    """Result of backward for ``given``, by argument."""
    precision: Precision

    def slope(self, argument: int, direction: Array) -> Slope:
        """Return the slope with respect to one argument, with the first step that settles it."""
        found = Slope(0.0, 0.0, 0.0, settled=False, moved=True)
        for step in self.precision.steps:
            found = self._slope_with(step, argument, direction)
            if found.settled:
                break
        return found

    def _slope_with(self, step: float, argument: int, direction: Array) -> Slope:
        ahead, moved_ahead = self._difference(argument, direction, step)
        behind, moved_behind = self._difference(argument, direction, -step)
        half = sum(self._difference(argument, direction, side * step / 2)[0] for side in (1, -1)) / 2
        numeric = (ahead + behind) / 2
        analytic, spread = self.analytic(argument, direction)
        scale = max(abs(analytic), abs(numeric), spread, self._noise() / step)
        near = self.precision.agreement * scale
        settled = abs(ahead - behind) <= 5 * near and abs(numeric - half) <= near
        return Slope(analytic, half, scale, bool(settled and np.isfinite(scale)), moved_ahead or moved_behind)

    def analytic(self, argument: int, direction: Array) -> tuple[float, float]:
        """Return the slope by backward, and its magnitude if its terms had random signs."""
        product = self.products[argument]
        if product is None:
            return 0.0, 0.0
        terms = (np.conj(product) * direction).real
        return float(terms.sum()), float(np.sqrt((terms.astype(np.float64) ** 2).sum()))

    def numeric(self, argument: int, direction: Array) -> float:
        """Return the slope by a central difference with the first step."""
        step = self.precision.steps[0]
        return sum(self._difference(argument, direction, side * step)[0] for side in (1, -1)) / 2

    def _noise(self) -> float:
        """Return an upper bound of how far rounding may move a sum of outputs."""
        sizes = [
            float(np.finfo(out.dtype).eps * np.linalg.norm(np.ravel(g * out)))
            for g, out in zip(self.given, self.out, strict=True)
        ]
        return 100 * sum(sizes)

    def _difference(self, argument: int, direction: Array, step: float) -> tuple[float, bool]:
        """Return the one-sided slope, and whether anything changed."""
        arrays = list(self.arrays)
        arrays[argument] = (arrays[argument] + step * direction).astype(arrays[argument].dtype)
        changes = [after - before for after, before in zip(self.map.values(arrays), self.out, strict=True)]
        total = sum(float(np.vdot(g, change).real) for g, change in zip(self.given, changes, strict=True))
        return total / step, any(bool(change.any()) for change in changes)


def direction_for(array: Array, numbers: np.random.Generator) -> Array:
    """Return a random direction that preserves the structure of an argument.

    Steps are relative to the entries, so that positive numbers stay positive and zeros (masks, triangles, the far
    side of a relu) stay zero; a symmetric matrix stays symmetric.
    """
    weight = np.abs(array) if array.any() else np.ones(array.shape)
    direction = np.asarray(drawn_like(array, numbers) * weight, array.dtype)
    return (direction + _turned(direction)) / 2 if is_symmetric(array) else direction


def is_symmetric(array: Array) -> bool:
    """Whether an array holds symmetric (or Hermitian) matrices, other than constant ones."""
    square = array.ndim >= 2 and array.shape[-1] == array.shape[-2] > 1
    return bool(square and np.array_equal(array, _turned(array)) and np.ptp(array.real))


def _turned(array: Array) -> Array:
    return np.conj(np.swapaxes(array, -1, -2))


def moved_aside(arrays: Sequence[Array], numbers: np.random.Generator) -> list[Array]:
    """Return a point close to another one, away from kinks such as ties and a bias of zeros."""
    return [one + np.asarray(0.05 * direction_for(one, numbers), one.dtype) for one in arrays]


def worst_entry(place: Place, argument: int, direction: Array) -> tuple[tuple[int, ...], Array]:
    """Return an entry at which the two slopes differ, by halving, and the direction along that entry alone."""
    symmetric = is_symmetric(place.arrays[argument])
    entries = np.flatnonzero(direction)
    while len(entries) > 1:
        halves = entries[: len(entries) // 2], entries[len(entries) // 2 :]
        differences = []
        for half in halves:
            part = _only(direction, half, symmetric=symmetric)
            differences.append(abs(place.analytic(argument, part)[0] - place.numeric(argument, part)))
        entries = halves[int(differences[1] > differences[0])]
    index = tuple(int(one) for one in np.unravel_index(int(entries[0]), direction.shape))
    return index, _only(direction, entries, symmetric=symmetric)


def clearest_entry(place: Place, argument: int, direction: Array) -> tuple[tuple[int, ...], Array]:
    """Return the entry, among a few, with the largest relative difference of slopes, and its direction."""
    symmetric = is_symmetric(place.arrays[argument])
    entries = np.flatnonzero(direction)
    few = entries[:: max(1, len(entries) // _FEW)]
    parts = [_only(direction, few[at : at + 1], symmetric=symmetric) for at in range(len(few))]
    slopes = [place.slope(argument, part) for part in parts]
    errors = [slope.error if slope.settled else 0.0 for slope in slopes]
    best = int(np.argmax(errors))
    return tuple(int(one) for one in np.unravel_index(int(few[best]), direction.shape)), parts[best]


def _only(direction: Array, entries: Array, *, symmetric: bool) -> Array:
    """Return the part of a direction along some entries."""
    part = np.zeros_like(direction)
    part.reshape(-1)[entries] = direction.reshape(-1)[entries]
    return part + _turned(part) if symmetric else part
