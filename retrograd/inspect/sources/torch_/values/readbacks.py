"""Statistics of tensors not on the CPU: computed on their device, and read back together in one copy.

A request returns a promise, which is read when the backward pass is over or when somebody needs it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .....locks import reentrant_lock
from ....program.signals import reraise_from_handler
from ..library import LIBRARY
from ..own_work import own_work
from ..problems import note_problem

_MOST = 2_000
"""Largest number of tensors with pending statistics."""
NORM = ("norm", "bad", "nan")
"""Statistics for the norm of a tensor and the number of its non-finite entries."""
ALL = (*NORM, "low", "high", "sum", "zeros", "tiny", "first_bad")
"""The rest: range and sum, how many entries are zero or, in half precision, below the smallest normal number, and the
position of the first non-finite one."""
ZEROS = ("zeros",)
CONTENT = ("words", "words_high", "squares_of_words", "squares_high", "rest")
"""Statistics that differ if the values of a tensor do."""


class Extra(NamedTuple):
    """One more statistic of a tensor."""

    name: str
    compute: Callable[[Any], Any]
    """Takes the tensor, returns a scalar tensor."""


class Promise:
    """The statistics of one tensor, by name."""

    __slots__ = ("_found", "_names", "_read", "size")

    def __init__(self, names: Sequence[str], size: int, read: Callable[[], None]) -> None:
        self._names, self._read = names, read
        self._found: list[float] | None = None
        self.size = size
        """Entries of the tensor."""

    def __getitem__(self, name: str) -> float:
        """Return a statistic; NaN if it could not be read."""
        if self._found is None:
            self._read()
        return math.nan if self._found is None else self._found[self._names.index(name)]

    def keep(self, found: list[float]) -> None:
        """Store the statistics."""
        self._found, self._read = found, _nothing

    @property
    def all(self) -> tuple[float, ...] | None:
        """Return all statistics, None if they could not be read."""
        if self._found is None:
            self._read()
        return None if self._found is None else tuple(self._found)

    def has(self, name: str) -> bool:
        """Whether there is such a statistic."""
        return name in self._names

    @property
    def finite(self) -> bool:
        """Whether all entries are finite."""
        return not self["bad"]


def _nothing() -> None:
    pass


class ReadBacks:
    """All pending statistics of this process."""

    def __init__(self) -> None:
        self._lock = reentrant_lock()
        self._waiting: list[tuple[Promise, Any]] = []
        self._wide: dict[Any, Any] = {}
        """Device -> the dtype in which its statistics are summed."""

    def ask(self, tensor: Any, names: tuple[str, ...], extra: Sequence[Extra] = ()) -> Promise | None:
        """Compute statistics of a floating or complex tensor with entries, on its device; None if that fails."""
        torch: Any = LIBRARY.torch
        try:
            with torch.no_grad():
                wide, tensor = self._wide_on(tensor.device), tensor.detach()
                if tensor.is_complex():
                    tensor = torch.view_as_real(tensor) if names is CONTENT else tensor.abs()
                found = [*_computed(torch, tensor, wide, names), *(one.compute(tensor) for one in extra)]
                vector = torch.stack([one.to(wide) for one in found])
        except Exception as failure:  # no memory left there, a dtype without these functions, …
            reraise_from_handler(failure)
            return None
        promise = Promise((*names, *(one.name for one in extra)), tensor.numel(), self.read)
        with self._lock:
            self._waiting.append((promise, vector))
            if len(self._waiting) >= _MOST:
                self.read()
        return promise

    def read(self) -> None:
        """Read back pending statistics: one copy for each device."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        by_device: dict[Any, list[tuple[Promise, Any]]] = {}
        for promise, vector in waiting:
            by_device.setdefault(vector.device, []).append((promise, vector))
        for there in by_device.values():
            try:
                _read(there)
            except Exception as problem:
                note_problem(problem)

    def forget(self) -> None:
        """Drop pending statistics."""
        with self._lock:
            self._waiting.clear()

    def _wide_on(self, device: Any) -> Any:
        """Return the widest floating dtype that a device supports."""
        torch: Any = LIBRARY.torch
        if device not in self._wide:
            try:
                torch.zeros((), dtype=torch.float64, device=device)
                self._wide[device] = torch.float64
            except Exception as failure:
                reraise_from_handler(failure)
                self._wide[device] = torch.float32
        return self._wide[device]


def _read(there: list[tuple[Promise, Any]]) -> None:
    """Read back pending statistics of one device."""
    torch: Any = LIBRARY.torch
    with own_work(), torch.no_grad():
        numbers = torch.cat([vector for _, vector in there]).tolist()
    begin = 0
    for promise, vector in there:
        promise.keep(numbers[begin : begin + len(vector)])
        begin += len(vector)


def _computed(torch: Any, x: Any, wide: Any, names: tuple[str, ...]) -> list[Any]:
    """Return statistics of a real tensor as scalars, by functions that all kinds of devices have."""
    if names is ZEROS:
        return [x.eq(0).sum(dtype=wide)]
    if names is CONTENT:
        return _content(torch, x, wide)
    bad, nan = x.sub(x).ne(0), x.ne(x)
    found = [torch.linalg.vector_norm(x, dtype=wide), bad.sum(dtype=wide), nan.sum(dtype=wide)]
    if names is NORM:
        return found
    zero, first = x.eq(0), bad.flatten().to(torch.uint8).argmax()
    return [*found, *x.aminmax(), x.sum(dtype=wide), zero.sum(dtype=wide), _tiny(torch, x, zero), first]


def _tiny(torch: Any, x: Any, zero: Any) -> Any:
    """Return how many entries underflow; for dtypes wider than half precision 0."""
    if x.dtype is not torch.float16:
        return torch.zeros((), device=x.device)
    least = torch.finfo(x.dtype).smallest_normal
    return (x.lt(least) & x.gt(-least) & ~zero).sum()


def _content(torch: Any, x: Any, wide: Any) -> list[Any]:
    """Return two sums over the bytes of a tensor, in halves that are exact as floats, or over its values."""
    try:
        memory = x.contiguous().view(-1).view(torch.uint8)
        whole = memory.numel() // 8 * 8
        words = memory[:whole].view(torch.int64)
        sums = [words.sum(), (words * words).sum()]
        return [*(part for one in sums for part in (one & 0xFFFFFFFF, one >> 32)), memory[whole:].sum()]
    except Exception as failure:
        reraise_from_handler(failure)
        return [x.sum(dtype=wide), x.amin(), torch.linalg.vector_norm(x, dtype=wide), x.amax(), x.eq(0).sum()]


READBACKS = ReadBacks()
