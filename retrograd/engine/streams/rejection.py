"""Rejection sampling: draws uniform numbers until a proposal is accepted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from .uniform import unit_doubles, unit_numbers

if TYPE_CHECKING:
    from ..random import Generator


# Uniform numbers read ahead, for draws that take an unknown number of them.

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


Uniform = Callable[[], float]
"""Gives the next number in ``[0, 1)``."""
_THIRD, _SQUEEZE = float(np.float32(1) / np.float32(3)), float(np.float32(0.0331))
_MANY = 10
"""From this mean on numbers are proposed; below, they are counted."""
_LONGS = 2.0**63


def _each(generator: Generator, draw: Callable[..., float], expected: int, *parameters: Any) -> Any:
    """One number for each element, row by row, in double precision."""
    shape = parameters[0].shape
    if any(p.shape != shape for p in parameters):
        parameters = np.broadcast_arrays(*parameters)
        shape = parameters[0].shape
    rows = [p.ravel().tolist() for p in parameters]
    with reading_ahead(generator, expected) as ahead:
        line = [draw(ahead, *each) for each in zip(*rows, strict=True)]
    return np.array(line, np.float64).reshape(shape)


# -- gamma


def gamma(generator: Generator, concentration: Any) -> Any:
    """Gamma numbers with the rate 1 (Marsaglia and Tsang 2000); the concentration's precision counts."""
    small = concentration < 1
    with np.errstate(over="ignore"):
        power = np.divide(1, concentration, out=np.ones_like(concentration), where=small & (concentration != 0))
    boosted = np.where(small, concentration + 1, concentration).astype(concentration.dtype)
    shift = boosted - concentration.dtype.type(_THIRD)
    return _each(generator, _gamma, 4 * concentration.size, concentration, power, shift)


def _gamma(ahead: Ahead, concentration: float, power: float, d: float) -> float:
    scale = 1.0
    if concentration < 1:
        if concentration == 0:
            return 0.0
        scale = _raised(1 - ahead.uniform(), power)
    c = 1.0 / math.sqrt(9.0 * d) if d > 0 else math.nan  # what follows accepts NaN
    while True:
        x = ahead.normal()
        y = 1.0 + c * x
        if y <= 0:
            continue
        v, u, square = y * y * y, 1 - ahead.uniform(), x * x
        if u < 1.0 - _SQUEEZE * square * square or math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return scale * d * v


def _raised(base: float, power: float) -> float:
    try:
        return math.pow(base, power)
    except OverflowError:  # a negative power
        return math.inf


# -- Poisson


def poisson(generator: Generator, rate: Any) -> Any:
    """Numbers of events; by transformed rejection (Hörmann 1993) where the rate is not small."""
    small = np.where(rate < _MANY, rate + 1, 3.0)
    return _each(generator, _poisson, int(small.sum()) if small.size else 0, rate)


def _poisson(ahead: Ahead, rate: float) -> float:
    if rate >= _MANY:
        return _proposed_poisson(ahead.uniform, rate)
    if rate == 0:
        return 0.0
    uniform, end, events, product = ahead.uniform, math.exp(-rate), -1, 1.0
    while True:
        product *= uniform()
        events += 1
        if product <= end:
            return float(events)


def _proposed_poisson(uniform: Uniform, rate: float) -> float:
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    squeeze = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = uniform() - 0.5, uniform()
        distance = 0.5 - abs(u)
        k = _long((2 * a / distance + b) * u + rate + 0.43) if distance else -1
        if distance >= 0.07 and v <= squeeze:
            return float(k)
        if k < 0 or (distance < 0.013 and v > distance):
            continue
        alpha = 1.1239 + 1.1328 / (b - 3.4)
        height = (math.log(v) if v else -math.inf) + math.log(alpha) - math.log(a / (distance * distance) + b)
        if height <= -rate + k * math.log(rate) - math.lgamma(k + 1):
            return float(k)


def _long(number: float) -> int:
    """Rounded down to 64 bits as processors do it: to the lowest integer if it does not fit."""
    return math.floor(number) if -_LONGS <= number < _LONGS else -int(_LONGS)


# -- binomial


def binomial(generator: Generator, count: Any, chance: Any) -> Any:
    """Numbers of successes; by transformed rejection (Hörmann 1993) where many are expected."""
    return _each(generator, _binomial, 4 * max(count.size, chance.size), count, chance)


def _binomial(ahead: Ahead, count: float, chance: float) -> float:
    if count <= 0 or chance <= 0:
        return 0.0
    if chance >= 1:
        return count
    if math.isnan(count) or math.isnan(chance):
        return math.nan
    rarer = min(chance, 1.0 - chance)
    draw = _proposed_binomial if count * rarer >= _MANY else _counted_binomial
    successes = draw(ahead.uniform, count, rarer)
    return successes if chance <= 0.5 else count - successes


def _counted_binomial(uniform: Uniform, count: float, chance: float) -> float:
    """Successes lie geometric distances apart."""
    place, successes, logarithm = 0.0, 0, math.log1p(-chance)
    while True:
        u = uniform()
        gap = math.log(u) / logarithm if u else math.inf
        place += math.ceil(gap) if gap < math.inf else gap
        if place > count:
            return float(successes)
        successes += 1


def _proposed_binomial(uniform: Uniform, count: float, chance: float) -> float:
    deviation = math.sqrt(count * chance * (1 - chance))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * chance
    squeeze = 0.92 - 4.2 / b
    while True:
        u, v = uniform() - 0.5, uniform()
        distance = 0.5 - abs(u)
        k = _floored((2 * a / distance + b) * u + count * chance + 0.5) if distance else -1.0
        if distance >= 0.07 and v <= squeeze:
            return k
        if not 0 <= k <= count or k == math.inf:
            continue
        v *= (2.83 + 5.1 / b) * deviation / (a / (distance * distance) + b)
        if not v or math.log(v) <= _log_ratio(k, count, chance):
            return k


def _floored(number: float) -> float:
    return float(math.floor(number)) if math.isfinite(number) else number


def _log_ratio(k: float, count: float, chance: float) -> float:
    """The logarithm of the probability of ``k`` successes over that of the most probable number of them."""
    mode, odds = _floored((count + 1) * chance), chance / (1 - chance)
    return (
        (mode + 0.5) * math.log((mode + 1) / (odds * (count - mode + 1)))
        + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
        + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
        + _stirling_tail(mode) + _stirling_tail(count - mode) - _stirling_tail(k) - _stirling_tail(count - k)
    )  # fmt: skip


def _stirling_tail(k: float) -> float:
    """What Stirling's formula leaves out of the logarithm of ``k!``."""
    if k <= 9:
        return math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi))
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
