"""Values that left the graph as plain numbers or arrays and came back unchanged: no call connects the two.

They are known by memory, which an array may share with the tensor that it becomes, or by their figures: as many
entries with the same ends and the same sum.  What came back after a backward pass is a constant by right.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose, isfinite, prod
from typing import Any, NamedTuple

import numpy as np

from ...operators import Trait, is_a
from .call_inputs import limits_and_sum
from .flow import Flow

_SUM = 1e-4
"""Relative difference of sums that were added up in another order."""


class Departure(NamedTuple):
    """A call that took values out of the graph."""

    row: int
    tensor: int
    total: float


class RoundTrips:
    """Where plain values that came into a recording had left it."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self.of_tensor: dict[int, Departure] = {}
        """Tensor that was made of plain values -> where these had left the graph."""
        self.of_number: dict[tuple[int, float], Departure] = {}
        """(Row of a call, number that it takes) -> the same."""
        self._gone: dict[tuple[int, float, float], Departure] = {}
        for row, event in enumerate(flow.events):
            if event.kind == "backward-end" and not event.data.get("nested"):
                self._gone.clear()
            elif event.kind in ("operation", "cut", "inplace"):
                self._follow(row, event.data)

    def _follow(self, row: int, data: dict[str, Any]) -> None:
        """Take in one call: what comes in, then what leaves."""
        inputs = data.get("inputs")
        if self._gone:
            for tensor, (low, high, total) in data.get("entered", {}).items():
                self._comes(int(tensor), low, high, total)
            for tensor, low, high, total in () if inputs else _results(data):
                self._comes(tensor, low, high, total)
            for number in data.get("arguments", {}).values():
                found = self._gone.get((1, number, number)) if isinstance(number, float) else None
                if found is not None:
                    self.of_number[row, number] = found
        if inputs and is_a(self._flow.events[row].op, Trait.READING):
            self._goes(row, inputs[0])

    def _goes(self, row: int, tensor: int) -> None:
        """Remember what a call took out of the graph."""
        limits, total = limits_and_sum(self._flow, tensor, row)
        if limits and total is not None and _tells(*limits):
            key = _key(prod(self._flow.facts(tensor).shape), *limits)
            self._gone[key] = Departure(row, tensor, total)
            self._gone[(key[0], *limits)] = self._gone[key]  # a number has all its digits

    def _comes(self, tensor: int, low: float, high: float, total: float) -> None:
        """Look where the values of a tensor come from that no call made of others."""
        found = self._gone.get(_key(prod(self._flow.facts(tensor).shape), low, high)) if _tells(low, high) else None
        if found is not None and isclose(found.total, total, rel_tol=_SUM, abs_tol=_SUM * max(abs(low), abs(high))):
            self.of_tensor.setdefault(tensor, found)


def _results(data: dict[str, Any]) -> Iterator[tuple[int, float, float, float]]:
    """Yield the results of a call with their figures, where they are known."""
    figures = zip(data.get("outputs", ()), data.get("range", ()), data.get("checksum", ()), strict=False)
    for tensor, limits, total in figures:
        if limits and limits[0] is not None and total is not None:
            yield tensor, limits[0], limits[1], total


def _key(size: int, low: float, high: float) -> tuple[int, float, float]:
    """Return what is the same of values in either precision."""
    return size, float(np.float32(low)), float(np.float32(high))


def _tells(low: float, high: float) -> bool:
    """Whether one of two ends is a number that nobody writes: a mask has 0 and 1, and a constant few digits."""
    return isfinite(low) and isfinite(high) and (is_computed(low) or is_computed(high))


def is_computed(number: float) -> bool:
    """Whether a number has more digits than people write."""
    return isfinite(number) and float(f"{number:.5g}") != number
