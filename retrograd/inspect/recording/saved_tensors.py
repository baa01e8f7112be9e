"""The tensors that the nodes of one graph save for backward: names, lines that made them, and ranges of values.

At level ``full`` they are known from the calls that made the nodes; nothing is unpacked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..program.places import SourceLine
from .events import Event, Recording
from .tensor_facts import TensorFacts


@dataclass(frozen=True, slots=True)
class SavedTensor:
    """One tensor that a node saves."""

    node: str
    """``n12``: the last node of the call that saves it."""
    name: str
    """Name of the variable or parameter, ``""`` if unknown."""
    shape: tuple[int, ...]
    dtype: str
    source: SourceLine | None
    """The user's line that made it, or first used it."""
    bytes: int
    """Size of its entries, counted in full even if several tensors share memory."""
    low: float | None = None
    """Smallest and largest value when it was saved, if recorded; NaN if one is NaN."""
    high: float | None = None


def saved_tensors(recording: Recording, step: int) -> dict[int, list[SavedTensor]]:
    """Return the tensors saved by each node of one graph, largest first; empty if not recorded."""
    graph = recording.graphs[step]
    rows = {graph.first_seq + number: node for node, number in enumerate(graph.seq) if number is not None}
    ranges = _Ranges(recording.tensors)
    found: dict[int, list[SavedTensor]] = {}
    for event in recording.events:
        ranges.learn(event)
        first, end = event.data["nodes"] if event.data.get("saves") else (0, 0)
        node = next((rows[number] for number in range(end - 1, first - 1, -1) if number in rows), None)
        if node is not None:
            kept = dict.fromkeys(event.data["saves"])
            known = [_saved(node, recording.tensors[number], ranges.of(number)) for number in kept]
            found.setdefault(node, []).extend(sorted(known, key=lambda one: -one.bytes))
    return found


class _Ranges:
    """Ranges of tensors' values, updated while events are read in order."""

    def __init__(self, tensors: list[TensorFacts]) -> None:
        self._tensors = tensors
        self._known: dict[int, tuple[int, float, float]] = {}
        """Tensor -> version counter, smallest and largest value."""
        self._writes: dict[int | None, int] = {}

    def learn(self, event: Event) -> None:
        """Read the ranges of one event; a tensor that it writes to, also through a view, loses its range."""
        for number, (low, high, _) in event.data.get("entered", {}).items():
            self._known[int(number)] = (self._written(int(number)), low, high)
        given = event.data.get("outputs", ())
        if event.kind == "inplace":
            for number in {*given, *([event.data["target"]] if "target" in event.data else ())}:
                self._writes[self._tensors[number].storage] = self._written(number) + 1
        floating = (number for number in given if self._tensors[number].floating)
        for number, limits in zip(floating, event.data.get("range") or (), strict=False):
            if limits is not None:
                self._known[number] = (self._written(number), limits[0], limits[1])

    def of(self, number: int) -> tuple[float, float] | None:
        """Return the current range of a tensor's values, None if unknown."""
        written, low, high = self._known.get(number, (-1, 0.0, 0.0))
        return (low, high) if written == self._written(number) else None

    def _written(self, number: int) -> int:
        return self._writes.get(self._tensors[number].storage, 0)


def _saved(node: int, facts: TensorFacts, limits: tuple[float, float] | None) -> SavedTensor:
    low, high = limits or (None, None)
    size = math.prod(facts.shape) * _bits(facts.dtype) // 8
    return SavedTensor(f"n{node}", facts.name, facts.shape, facts.dtype, facts.source, size, low, high)


def _bits(dtype: str) -> int:
    """Return the bits of one entry: given by ``float32`` and ``float8_e5m2``; ``bool`` takes a byte."""
    return int("".join(char for char in dtype.partition("_")[0] if char.isdecimal()) or 8)
