"""Uniform numbers read ahead, for draws that take an unknown number of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .uniform import unit_doubles, unit_numbers

if TYPE_CHECKING:
    from ..random import Generator

_FEW, _MOST = 64, 65_536
"""Up to so few numbers, putting back costs more than reading one by one."""


class Ahead:
    """Numbers in ``[0, 1)``, one by one, read in blocks; those that were not used are put back at the end."""

    def __init__(self, generator: Generator, expected: int) -> None:
        self._generator, self._size = generator, 1 if expected <= _FEW else min(expected, _MOST)
        self._start = b""
        self._numbers: list[float] = []  # still to be given, the next one at the end

    def uniform(self) -> float:
        """The next number."""
        if self._size == 1:
            return unit_numbers(self._generator, 1)[0]
        if not self._numbers:
            self._start = self._generator.mark()
            self._numbers = unit_doubles(self._generator, self._size)[::-1].tolist()
        return self._numbers.pop()

    def normal(self) -> float:
        """The next standard normal number; of a pair the second is kept in the generator."""
        generator = self._generator
        if generator.spare is not None:
            number = generator.spare
            generator.keep(None)
            return number
        first, second = self.uniform(), self.uniform()
        radius, angle = math.sqrt(-2.0 * math.log1p(-second)), 2.0 * math.pi * first
        generator.keep(radius * math.sin(angle))
        return radius * math.cos(angle)

    def put_back(self) -> None:
        """Let the generator go on after the last number that was used."""
        if self._numbers:
            self._generator.go_back(self._start)
            unit_doubles(self._generator, self._size - len(self._numbers))
            self._numbers = []


@contextmanager
def reading_ahead(generator: Generator, expected: int) -> Iterator[Ahead]:
    """Numbers for the block, of which about so many are expected to be used; other threads wait meanwhile."""
    with generator.lock:
        ahead = Ahead(generator, expected)
        try:
            yield ahead
        finally:
            ahead.put_back()
